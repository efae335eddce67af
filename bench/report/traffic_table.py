"""Messages and bytes of a lock: for each acquire and release, each hand-off, and each idle second."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.evidence import Evidence
from bench.analysis.network.traffic import UNITS, Sent, sent
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison, LongRow, system_column
from bench.report.writers.csv import csv

TITLE = "Messages and bytes"
_EXPLANATION = (
    "Counted at delay lines without a delay, both directions together: messages, with their bytes in brackets. A "
    "message is what one read from a socket returns. An idle holder keeps one lock, an idle waiter waits for it; what "
    "keeps their sessions alive is included. A hand-off goes from the release to the waiter's grant, with the messages "
    "of both clients. Between servers: what all of them send each other; heartbeats count in the idle second alone."
)


@dataclass(frozen=True, slots=True)
class _Line:
    """One row of the comparison."""

    row: LongRow
    sent: Sent


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where nobody counted."""
    lines = [
        _Line(row, one)
        for row in comparison.rows
        for one in sent(run for cell in row.cells.values() for run in cell.runs)
    ]
    return (Heading(TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, lines)) if lines else ()


def traffic_csv(evidence: Evidence) -> str:
    """One row a system; empty where nobody counted."""
    rows = [_flat(one) for one in sent(evidence.rows)]
    return csv(rows) if rows else ""


def _flat(one: Sent) -> Mapping[str, object]:
    return {
        "system": one.system,
        "session_ttl_ms": one.ttl_ms,
        "wait": one.wait,
        **{
            f"{side}{unit}_per_{name}": one.numbers.get(f"{side}{number}", {}).get(unit)
            for side in ("", "peers_")
            for number, name in _NAMES.items()
            for unit in UNITS
        },
        "runs": len(one.runs),
    }


_NAMES = {"pair": "pair", "hand_off": "hand_off", "holder_s": "idle_holder_s", "waiter_s": "idle_waiter_s"}


def _text(number: str) -> Callable[[_Line], Text]:
    def text(line: _Line) -> Text:
        by_unit = line.sent.numbers.get(number)
        if by_unit is None:
            return Text(NOTHING, measured=False)
        words = f"{formats.significant(by_unit['messages'])} ({formats.whole(by_unit['bytes'])})"
        return Text(words, runs=tuple(run.run_id for run in line.sent.runs))

    return text


_COLUMNS: Sequence[Column[_Line]] = (
    system_column(lambda line: line.row),
    Column("Acquire and release", _text("pair"), fit=Fit()),
    Column("Hand-off", _text("hand_off"), fit=Fit()),
    Column("Waits by", lambda line: line.sent.wait, fit=Fit()),
    Column("Idle holder", _text("holder_s"), unit="a second", fit=Fit()),
    Column("Idle waiter", _text("waiter_s"), unit="a second", fit=Fit()),
    Column("Between servers, acquire and release", _text("peers_pair")),
    Column("Between servers, idle", _text("peers_holder_s"), unit="a second"),
    Column("Runs", lambda line: str(len(line.sent.runs)), fit=Fit(width=4, right=True)),
)
