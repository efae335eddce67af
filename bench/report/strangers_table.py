"""Strangers beside a hot key: do clients that meet at a key slow others, on the same servers or in the same pool?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.cells import Absent, Cell, Value
from bench.analysis.intervals import ratio_of_campaigns
from bench.records.workload import Workload
from bench.report import formats
from bench.report.cell_texts import estimate_text, ms_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison, LongRow, system_column

TITLE = "Strangers beside a hot key"
_EXPLANATION = (
    "Strangers acquire and release keys of their own, without a hold, on the servers of a hot key. Through a pool they "
    "also share its connections with the clients that meet there; then an acquire includes the wait for a connection. "
    "Each ratio divides by the same with the fewest meeting clients, which is the control."
)
_CONTROL = Text("control", measured=None)
_ALIKE_WITHOUT = {"label", "clients", "warmup_s", "measure_s"}  # how many meet, how long, and under which name


@dataclass(frozen=True, slots=True)
class _Line:
    """One cell with strangers, the row of the comparison that it belongs to, and what it is compared with."""

    row: LongRow
    cell: Cell
    control: Cell  # itself, where no fewer clients meet


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where there were no strangers."""
    lines = [line for row in comparison.rows for line in _lines(row)]
    return (Heading(TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, lines)) if lines else ()


def by_control(cell: Cell, control: Cell, metric: str) -> Value:
    """How many times larger a metric of a cell is than in its control; Absent, with the reason, where either lacks it.

    Of a control that is only an upper bound nothing is a multiple.
    """
    sides: list[list[list[float]]] = []
    for whose, one in (("", cell), ("control: ", control)):
        value = one.value(metric)
        if isinstance(value, Absent):
            why = value.reason.removeprefix("n/a (").removesuffix(")")
            return Absent(f"n/a ({whose}{why})") if whose else value
        sides.append(one.by_campaign(metric))
    if binds := control.bounds_of(metric):
        return Absent(f"n/a (control: {formats.bound_words(binds)})")
    return ratio_of_campaigns(sides[0], sides[1])


def _lines(row: LongRow) -> Sequence[_Line]:
    """Own connections first, then pools; of each the control first."""
    alike: dict[str, list[Cell]] = {}
    for cell in sorted(row.cells.values(), key=lambda one: (one.workload.pool, one.workload.meeting_clients)):
        if cell.workload.strangers_from is not None:
            alike.setdefault(_rest(cell.workload), []).append(cell)
    return [_Line(row, cell, group[0]) for group in alike.values() for cell in group]


def _rest(workload: Workload) -> str:
    rest: Mapping[str, object] = workload.model_dump(exclude=_ALIKE_WITHOUT)
    return repr(rest)


def _connections(line: _Line) -> str:
    pool = line.cell.workload.pool
    return f"pool of {pool}" if pool else "own"


def _ms(title: str, metric: str) -> Column[_Line]:
    return Column(title, lambda line: ms_text(line.cell, metric), unit="ms", fit=Fit())


def _times(metric: str) -> Callable[[_Line], Text]:
    def text(line: _Line) -> Text:
        if line.cell is line.control:
            return _CONTROL
        binds = line.cell.bounds_of(metric)
        value = by_control(line.cell, line.control, metric)
        return estimate_text(value, lambda one: formats.times_value(one, binds=binds), line.cell)

    return text


_COLUMNS: Sequence[Column[_Line]] = (
    system_column(lambda line: line.row),
    Column("Meeting clients", lambda line: str(line.cell.workload.meeting_clients), fit=Fit(header="Meet", width=5)),
    Column("Strangers", lambda line: str(line.cell.workload.strangers)),
    Column("Connections", _connections, fit=Fit(width=11)),
    Column("Hold", lambda line: f"{line.cell.workload.hold_ms:g}", unit="ms"),
    Column("Wait", lambda line: line.cell.workload.wait),
    _ms("Strangers' acquire p50", "stranger_acquire_us_p50"),
    _ms("Strangers' acquire p99", "stranger_acquire_us_p99"),
    Column("p50 ÷ control", _times("stranger_acquire_us_p50"), fit=Fit()),
    Column("p99 ÷ control", _times("stranger_acquire_us_p99"), fit=Fit()),
)
