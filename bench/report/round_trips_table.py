"""Round trips of an acquire and a release as the clock counts them, beside those that the adapter declares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.network.slopes import AGREES_WITHIN, HAND_OFF, RECOVERY, Counted, counted
from bench.records.numbers import minus
from bench.report import formats
from bench.report.formats import NO_BREAK, NOTHING, RANGE
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison, LongRow, system_column
from bench.report.writers.csv import csv

TITLE = "Round trips, counted by the clock"
_EXPLANATION = (
    "One client without contention, over networks of different round trips. How much longer the median latency is for "
    "each ms of the measured round trip is the number of sequential round trips: Theil and Sen's slope over the runs, "
    "with its 95 % interval. What does not depend on the network is the latency at a round trip of zero. An adapter "
    f"agrees within {AGREES_WITHIN:g}. Between servers: only those round trips vary, and a lone client asks the leader."
)
_OF_HAND_OFFS = (
    " A hand-off is from a release's answer to the next client's grant. Clients meet at one key, spread over the "
    "servers, and are woken or handed the lock; where they poll, a pause and luck decide."
)
_OF_RECOVERY = (
    " Crash recovery: the time without a grant after a holder was killed. The end of a lease decides it, on the "
    "servers' clock: no number of round trips is declared, and there is none to count where it varies by more than "
    "the networks do."
)
_VARIES = "n/a (varies by more)"


@dataclass(frozen=True, slots=True)
class _Line:
    """One operation of one row of the comparison."""

    row: LongRow
    counted: Counted


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no client was measured over several networks."""
    lines = [
        _Line(row, one)
        for row in comparison.rows
        for one in counted(run for cell in row.cells.values() for run in cell.runs)
    ]
    if not lines:
        return ()
    shown = {line.counted.operation for line in lines}
    more = (_OF_HAND_OFFS if HAND_OFF in shown else "") + (_OF_RECOVERY if RECOVERY in shown else "")
    return Heading(TITLE), Paragraph(_EXPLANATION + more), Table(_COLUMNS, lines)


def round_trips_csv(evidence: Evidence) -> str:
    """One row an operation of a system; empty where no client was measured over several networks."""
    rows = [_flat(one) for one in counted(evidence.rows)]
    return csv(rows) if rows else ""


def _flat(one: Counted) -> Mapping[str, object]:
    slope = one.slope
    return {
        "system": one.system,
        "between": one.between,
        "operation": one.operation,
        "round_trips": slope.round_trips,
        "round_trips_low": slope.low,
        "round_trips_high": slope.high,
        "round_trips_declared": one.declared,
        "agrees": one.agrees,
        "without_network_us": slope.fixed_us,
        "runs": len(one.runs),
    }


def slope_words(one: Counted) -> str:
    """The number with its interval, or that there is none."""
    if not one.told:
        return _VARIES
    slope = one.slope
    return f"{number(slope.round_trips)} [{number(slope.low)}{RANGE}{number(slope.high)}]"


def number(round_trips: float) -> str:
    """To a hundredth; where a hand-off has none it may be a little less."""
    return minus(f"{round(round_trips, 2) + 0.0:.2f}")


def _text(words: str, line: _Line) -> Text:
    return Text(words, runs=tuple(run.run_id for run in line.counted.runs))


def _slope(line: _Line) -> Text:
    words = slope_words(line.counted)
    return _text(words, line) if line.counted.told else Text(words, measured=None)


def _operation(line: _Line) -> str:
    """A hand-off with the way to wait, which need not be the row's usual one."""
    one = line.counted
    return (
        f"{one.operation} ({names.strategy(one.runs[0].workload.wait)})" if one.operation == HAND_OFF else one.operation
    )


def _declared(line: _Line) -> str:
    declared = line.counted.declared
    return NOTHING if declared is None else str(declared)


def _agrees(line: _Line) -> str:
    agrees = line.counted.agrees
    return NOTHING if agrees is None else "yes" if agrees else "no"


def _networks(line: _Line) -> str:
    us = [x for x, _ in line.counted.points()]
    return f"{formats.ms(min(us))} to {formats.ms(max(us))}"


_COLUMNS: Sequence[Column[_Line]] = (
    system_column(lambda line: line.row),
    Column("Between", lambda line: line.counted.between, fit=Fit(width=10)),
    Column("Operation", _operation, fit=Fit(width=10)),
    Column("Round trips", _slope, fit=Fit()),
    Column("Declared", _declared, fit=Fit(width=8, right=True)),
    Column("Agrees", _agrees, fit=Fit(width=6)),
    Column(
        f"At{NO_BREAK}0",
        lambda line: _text(formats.significant(max(0.0, line.counted.slope.fixed_us) / 1_000.0), line),
        unit="ms",
        fit=Fit(),
    ),
    Column("Measured round trips", _networks, unit="ms"),
    Column("Runs", lambda line: str(len(line.counted.runs)), fit=Fit(width=4, right=True)),
)
