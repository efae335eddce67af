"""Availability under load: what waiters got while servers, or a holder, were lost."""

from collections.abc import Callable, Sequence

from bench.analysis.cells import Absent, Cell
from bench.analysis.contention.availability import AFTER, BEFORE, DURING
from bench.analysis.contention.availability_cells import answered, availability_value
from bench.records.durations import duration_text
from bench.records.numbers import percent
from bench.records.workload import Workload
from bench.report import formats
from bench.report.cell_texts import estimate_text
from bench.report.formats import NOTHING
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import CellRow, Comparison, cell_rows, system_column

_TITLE = "Availability under load"
_EXPLANATION = (
    "A fault strikes while clients queue for one key. The time without a grant is the longest that meets the fault; "
    "grants return while it is in force, or some time after its end (a holder's: its death). Acquires are counted "
    "when they are answered; those that are unsent found no free client before the window closed. The order is kept "
    "if nobody who waited when grants returned was overtaken by a client that had asked at least one grant later. "
    "Numbers are the median run's, with the range of the runs."
)
_FAULTS = {
    "leader-killed": "leader or only server killed, started again after {}",
    "minority-stopped": "minority of servers stopped for {}",
    "majority-stopped": "majority of servers stopped for {}",
    "holder-killed": "holder killed",
}


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no run had a fault."""
    rows = [row for row in cell_rows(comparison) if row.cell.workload.has_fault]
    if not rows:
        return ()
    carried = any(name.endswith("_us_p99") for row in rows for run in row.cell.used for name in run.availability)
    return Heading(_TITLE), Paragraph(_EXPLANATION), Table((*_COLUMNS, *(_TAILS if carried else ())), rows)


def fault_words(workload: Workload) -> str:
    """What was done, and for how long."""
    return _FAULTS[workload.fault].format(duration_text(workload.fault_s, "s"))


def _value(name: str, words: Callable[[float], str]) -> Callable[[CellRow], Text]:
    def text(row: CellRow) -> Text:
        value = availability_value(row.cell, name)
        return estimate_text(value, lambda one: formats.with_range(one, words), row.cell)

    return text


def _seconds(name: str) -> Callable[[CellRow], Text]:
    """Where a run had no grant again, what was measured is only a lower bound."""

    def text(row: CellRow) -> Text:
        value = availability_value(row.cell, name)
        never = _never_again(row.cell)
        if not never or isinstance(value, Absent):
            return estimate_text(value, lambda one: formats.with_range(one, formats.significant), row.cell)
        # All of them: no more is known of any run than the least that was seen.
        words = (
            formats.significant(value.low) if never == value.runs else formats.with_range(value, formats.significant)
        )
        return Text(f"≥{formats.NO_BREAK}{words} ({_never_words(never, value.runs)})", runs=row.cell.evidence)

    return text


def _again(row: CellRow) -> Text:
    value = availability_value(row.cell, "grants_again_s")
    if isinstance(value, Absent) or value.high:
        return _seconds("grants_again_s")(row)
    never = _never_again(row.cell)
    if never == value.runs:  # the window closed while the fault was in force
        return Text(_never_words(never, value.runs), runs=row.cell.evidence)
    return Text(f"while in force{f' ({_never_words(never, value.runs)})' if never else ''}", runs=row.cell.evidence)


def _never_again(cell: Cell) -> int:
    """How many of the runs that count saw no grant between the fault and the end of the load."""
    return sum(run.availability.get("grants_again") == 0.0 for run in cell.used)


def _never_words(never: int, runs: int) -> str:
    return "no grant again" if never == runs else f"no grant again in {never} of {runs} runs"


def _answered(phase: str) -> Callable[[CellRow], Text]:
    def text(row: CellRow) -> Text:
        if not row.cell.used:
            return Text(NOTHING, measured=None)
        counts = dict(answered(row.cell, phase))
        unsent = sum(run.load_counts.get("unsent", 0) for run in row.cell.used)
        if phase == AFTER and unsent:
            counts["unsent"] = unsent  # arrivals for which no client was free before the window closed
        words = ", ".join(f"{outcome} {count:,}" for outcome, count in counts.items())
        return Text(words or "none", runs=row.cell.evidence)

    return text


def _order(row: CellRow) -> Text:
    waited = availability_value(row.cell, "waited_through")
    overtook = availability_value(row.cell, "overtook_afterwards_share")
    if isinstance(waited, Absent) or isinstance(overtook, Absent):
        return estimate_text(overtook, lambda _: "", row.cell)
    if waited.high < 1.0:
        return Text("nobody waited", runs=row.cell.evidence)
    share = f"{percent(overtook.value)} of grants overtook" if overtook.high else "kept"
    return Text(f"{share}, {formats.with_range(waited, formats.whole)} waited", runs=row.cell.evidence)


def _ms(name: str) -> Callable[[CellRow], Text]:
    return _value(name, formats.ms)


def _fault_and_network(workload: Workload) -> str:
    return fault_words(workload) + (f", network {workload.network}" if workload.has_network else "")


def _target(cell: Cell) -> str:
    return "; ".join(dict.fromkeys(one.target for run in cell.runs for one in run.faults))


_COLUMNS: Sequence[Column[CellRow]] = (
    system_column(lambda row: row.row),
    Column(
        "Fault",
        lambda row: Text(_fault_and_network(row.cell.workload), measured=None, hint=_target(row.cell)),
        fit=Fit(width=20),
    ),
    Column("Without a grant", _seconds("without_grant_s"), unit="s", fit=Fit()),
    Column("Grants return after", _again, unit="s", fit=Fit()),
    Column("Longest wait", _value("longest_wait_s", formats.significant), unit="s", fit=Fit()),
    Column("Order", _order, fit=Fit()),
    Column("Answered before", _answered(BEFORE)),
    Column("Answered during", _answered(DURING), fit=Fit()),
    Column("Answered after", _answered(AFTER), fit=Fit()),
    Column("p50 before", _ms("before_us_p50"), unit="ms"),
    Column("p50 after", _ms("after_us_p50"), unit="ms"),
)
_TAILS: Sequence[Column[CellRow]] = (  # where any run is long enough for them
    Column("p99 before", _ms("before_us_p99"), unit="ms"),
    Column("p99 after", _ms("after_us_p99"), unit="ms"),
)
