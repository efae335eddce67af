"""What an acquire cannot do without, and what the servers say of themselves, as cells of the long form."""

from collections.abc import Sequence

from bench.analysis.cells import Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.floor import COMMON, critical_path, floor_range_us, floor_us, over_floor, server_means_us
from bench.report import formats
from bench.report.cell_texts import estimate_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import ABSENT, Comparison, Costs, LongRow, system_column, tried_in

_TITLE = "What an acquire needs, and what the servers report"
_EXPLANATION = (
    "The floor is these round trips and durable writes in sequence, each at this machine's own median. The round trip "
    "is that of the quickest of several bursts; the brackets show the floor with the quickest and the slowest burst, "
    "where recorded. Server means cover the whole run, warm-up included: `answer` is a request from its arrival to its "
    "answer, disk and other servers included; `execute` is the work alone; `fsync` is one durable write of the log."
)
_COLUMNS: Sequence[Column[LongRow]] = (
    system_column(lambda row: row),
    Column("Round trips of an acquire", lambda row: row.costs.round_trips, strong=False, fit=Fit(width=21)),
    Column("Durable writes it waits for", lambda row: row.costs.durable_writes, strong=False, fit=Fit(width=14)),
    Column("Server means", lambda row: row.costs.server_means_us, unit="µs per call", strong=False, fit=Fit()),
)


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section, one line a row of the comparison; none where no row has any of it."""
    table = Table(_COLUMNS, comparison.rows)
    return (Heading(_TITLE), Paragraph(_EXPLANATION), table) if tried_in(table) else ()


def costs_of(cell: Cell | None, evidence: Evidence) -> Costs:
    """Of an uncontended cell."""
    if cell is None:
        return Costs(ABSENT, ABSENT, ABSENT, ABSENT, ABSENT)
    runs = cell.evidence
    floor, path = floor_us(cell, evidence.environment), critical_path(cell)
    times = over_floor(cell, evidence.environment, evidence.environments)
    if isinstance(path, Absent):
        trips = writes = Text(path.reason, measured=False, runs=runs)
    else:
        between = f" + {path.peer_round_trips} between servers" if path.peer_round_trips else ""
        trips = Text(f"{path.client_round_trips}{between}", runs=runs)
        writes = Text(str(path.durable_writes), runs=runs)
    return Costs(
        floor_ms=Text(floor.reason, measured=False, runs=runs)
        if isinstance(floor, Absent)
        else _floor(cell, floor, evidence),
        p50_by_floor=estimate_text(times, lambda value: formats.times_value(value, binds=cell.latency_bounds), cell),
        round_trips=trips,
        durable_writes=writes,
        server_means_us=_means(cell),
    )


def _floor(cell: Cell, floor: float, evidence: Evidence) -> Text:
    ends = floor_range_us(cell, tuple(evidence.environments.values()) or (evidence.environment,))
    varied = f" [{formats.ms(ends[0])}{formats.RANGE}{formats.ms(ends[1])}]" if ends else ""
    return Text(f"{formats.ms(floor)}{varied}", runs=cell.evidence)


def _means(cell: Cell) -> Text:
    means = server_means_us(cell)
    names = (*(name for name in COMMON if name in means), *(name for name in means if name not in COMMON))
    words = ", ".join(f"{name.replace('_', ' ')} {formats.significant(means[name])}" for name in names)
    return Text(words, runs=cell.evidence) if words else Text(formats.NOTHING, measured=False)
