"""The networks between clients and servers, and between servers, as they were measured: what the delay lines did, and
what they cost."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.runs import RunRow
from bench.records.numbers import minus, percent
from bench.records.schema import NetworkMeasured
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison

TITLE = "Networks, as measured"
_EXPLANATION = (
    "Clients reached their servers over delay lines, or servers each other. A probe measured the round trip through "
    "the lines before and after each run; that measured round trip counts, not the one asked for. Error: the added "
    "round trip, less what was asked for, over all runs. Overhead: what a line adds without a delay. A run is void if "
    "they were busy."
)


# What lay on a network's two ends, and where a run has what was measured of it.
_BETWEEN: Mapping[str, Callable[[RunRow], NetworkMeasured | None]] = {
    "clients and servers": lambda run: run.network,
    "servers": lambda run: run.peer_network,
}


@dataclass(frozen=True, slots=True)
class _Line:
    """One network, over all runs that had it."""

    between: str
    name: str
    runs: Sequence[RunRow]
    of: Callable[[RunRow], NetworkMeasured | None]

    def each(self, value: Callable[[NetworkMeasured], float | None]) -> Sequence[float]:
        """A number of each run that has it."""
        found = [value(network) for run in self.runs if (network := self.of(run)) is not None]
        return [one for one in found if one is not None]


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no run had a network of its own."""
    lines = _lines(run for row in comparison.rows for cell in row.cells.values() for run in cell.runs)
    return (Heading(TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, lines)) if lines else ()


def _lines(runs: Iterable[RunRow]) -> Sequence[_Line]:
    by_name: dict[tuple[str, str], list[RunRow]] = {}
    for run in runs:
        for between, of in _BETWEEN.items():
            if (network := of(run)) is not None:
                by_name.setdefault((between, network.asked), []).append(run)
    lines = [_Line(between, name, found, _BETWEEN[between]) for (between, name), found in by_name.items()]
    return sorted(lines, key=lambda line: (line.between, max(line.each(lambda one: one.added_us_asked))))


def _spread(words: Callable[[float], str], value: Callable[[NetworkMeasured], float | None]) -> Callable[[_Line], Text]:
    """The median of the runs, with their range."""

    def text(line: _Line) -> Text:
        found = line.each(value)
        if not found:
            return Text(NOTHING, measured=False)
        middle, low, high = words(statistics.median(found)), words(min(found)), words(max(found))
        shown = middle if low == high else f"{middle} [{low} to {high}]"
        return Text(shown, runs=tuple(run.run_id for run in line.runs))

    return text


def _at_most(
    words: Callable[[float], str], value: Callable[[NetworkMeasured], float | None]
) -> Callable[[_Line], Text]:
    """The largest of the runs."""
    return lambda line: Text(words(max(line.each(value), default=0.0)), runs=tuple(run.run_id for run in line.runs))


def _signed(value_us: float) -> str:
    return minus(f"{'+' if value_us > 0 else ''}{formats.whole(value_us)}")


_VALUES: Mapping[str, Callable[[NetworkMeasured], float | None]] = {
    "rtt": lambda one: one.rtt_us,
    "error": lambda one: one.error_us,
    "overhead": lambda one: one.overhead_us,
    "drift": lambda one: abs(
        statistics.median(x.us_p50 for x in one.after) - statistics.median(x.us_p50 for x in one.before)
    ),
    "late": lambda one: one.late_us_p99,
    "per_s": lambda one: one.messages_per_s,
    "per_s_at_most": lambda one: one.messages_per_s_at_most,
    "busy": lambda one: one.busy_share,
}
_COLUMNS: Sequence[Column[_Line]] = (
    Column("Between", lambda line: line.between, fit=Fit(width=10)),
    Column("Network", lambda line: line.name, fit=Fit()),
    Column("Round trip", _spread(formats.ms, _VALUES["rtt"]), unit="ms", fit=Fit()),
    Column("Error", _spread(_signed, _VALUES["error"]), unit="µs", fit=Fit()),
    Column("Overhead", _spread(formats.whole, _VALUES["overhead"]), unit="µs", fit=Fit()),
    Column("After − before, at most", _at_most(formats.whole, _VALUES["drift"]), unit="µs"),
    Column("Late p99, at most", _at_most(formats.whole, _VALUES["late"]), unit="µs"),
    Column("Messages/s, at most", _at_most(formats.whole, _VALUES["per_s"])),
    Column("Limit", _spread(formats.whole, _VALUES["per_s_at_most"]), unit="messages/s"),
    Column("Busiest line", _at_most(percent, _VALUES["busy"]), fit=Fit(width=7)),
    Column("Runs", lambda line: str(len(line.runs)), fit=Fit(width=4, right=True)),
)
