"""Waiting under contention: how long, for whom, and how long a fair queue would have taken."""

from collections.abc import Callable, Sequence

from bench.analysis.cells import NOT_RECORDED, Absent, Cell, amplification
from bench.analysis.contention.measures import CONTENTION
from bench.analysis.contention.sweeps import alone, meets_at_keys
from bench.analysis.intervals import Estimate
from bench.records.numbers import percent
from bench.report import formats
from bench.report.cell_texts import by_alone_words, estimate_text, ms_text, whole_text
from bench.report.formats import NOTHING
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import CellRow, Comparison, cell_rows, system_column

_TITLE = "Who got the lock next"
_EXPLANATION = (
    "Under contention the median can be lower than without: with no think time, a client that releases the lock often "
    "takes it again at once while the others wait. The mean shows what an acquire costs on average; the wait when the "
    "lock changed hands shows what it costs those who had to wait. Shares and streaks are the median run's, with the "
    "range of the runs."
)
_WAITING = "Waiting beside a fair queue"
_WAITING_EXPLANATION = (
    "The queue wait ends when the holder's release is answered; then comes the hand-off, until the next client has its "
    "grant. The wait of a fair queue with the same hold, release and hand-off is known: (n − 1) services less think "
    "time in a closed loop, Lindley's recursion over the run's own arrivals in an open one. A ratio of 1 is as fair as "
    "a queue can be."
)
_FAIRNESS = "Fairness"
_FAIRNESS_EXPLANATION = (
    "A grant overtakes if a client that asked at least one grant earlier still waits. Jain's index is 1 if all clients "
    "got equally many grants. The wait by time is the wait that a random moment of waiting belongs to, so long waits "
    "weigh more."
)


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The sections; none where no keys were shared, and the first alone where records are older than the measures.

    Jobs, and runs with a fault, have tables of their own: what waiting costs is neither's cost.
    """
    shared = [row for row in cell_rows(comparison) if meets_at_keys(row.cell.workload)]
    if not shared:
        return ()
    found: list[Block] = [Heading(_TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, shared)]
    waiting = [row for row in shared if _is_recorded(row.cell)]
    if waiting:
        found += [Heading(_WAITING), Paragraph(_WAITING_EXPLANATION), Table(_WAITING_COLUMNS, waiting)]
        found += [Heading(_FAIRNESS), Paragraph(_FAIRNESS_EXPLANATION), Table(_FAIRNESS_COLUMNS, waiting)]
    return tuple(found)


def _is_recorded(cell: Cell) -> bool:
    return any(run.metrics.get(name) is not None for run in cell.used for name in CONTENTION)


def changed_hands(cell: Cell) -> str:
    """The share of grants that went to another client than before, with its range; "" where it is not recorded."""
    share = cell.value("changed_hands_share")
    return "" if isinstance(share, Absent) else _percent(share)


def _percent(share: Estimate) -> str:
    return formats.with_range(share, percent)


def _plain(value: Estimate) -> str:
    return formats.with_range(value, formats.significant)


def _hands(row: CellRow) -> Text:
    hands = changed_hands(row.cell)
    return Text(hands or NOT_RECORDED, measured=bool(hands), runs=row.cell.evidence)


def _times(metric: str) -> Callable[[CellRow], Text]:
    return lambda row: estimate_text(row.cell.value(metric), formats.times_value, row.cell)


def _by_uncontended(row: CellRow) -> Text:
    single = alone(row.row.cells.values(), row.cell)
    if single is None:
        return Text(NOTHING, measured=None)
    ratio = amplification(row.cell, single)
    return estimate_text(ratio, lambda value: by_alone_words(value, row.cell, single), row.cell)


def _refused(row: CellRow) -> Text:
    """Acquires that got no lock, by their outcome."""
    words = ", ".join(f"{outcome} {count:,}" for outcome, count in row.cell.refusals.items())
    return Text(words or "none", runs=row.cell.evidence)


def _ms(title: str, metric: str) -> Column[CellRow]:
    return Column(title, lambda row: ms_text(row.cell, metric), unit="ms", fit=Fit())


_SYSTEM: Column[CellRow] = system_column(lambda row: row.row)
_WORKLOAD: Column[CellRow] = Column("Workload", lambda row: row.cell.workload.title, fit=Fit(width=12))
_COLUMNS: Sequence[Column[CellRow]] = (
    _SYSTEM,
    _WORKLOAD,
    _ms("Mean acquire", "acquire_us_mean"),
    Column("Grants that changed hands", _hands, fit=Fit()),
    Column("Longest streak of one client", lambda row: whole_text(row.cell, "longest_streak"), fit=Fit()),
    _ms("Wait when it changed hands: p50", "handed_wait_us_p50"),
    _ms("p99", "handed_wait_us_p99"),
)
_WAITING_COLUMNS: Sequence[Column[CellRow]] = (
    _SYSTEM,
    _WORKLOAD,
    Column("Hold", lambda row: f"{row.cell.workload.hold_ms:g}", unit="ms", fit=Fit()),
    _ms("Hand-off p50", "hand_off_us_p50"),
    _ms("Hand-off p99", "hand_off_us_p99"),
    Column(
        "Requests per grant",
        lambda row: estimate_text(row.cell.value("requests_per_grant"), _plain, row.cell),
        fit=Fit(),
    ),
    _ms("Queue wait p50", "queue_wait_us_p50"),
    _ms("Queue wait p99", "queue_wait_us_p99"),
    _ms("Fair queue p99", "fair_wait_us_p99"),
    Column("p99 ÷ fair queue", _times("wait_by_fair_p99"), fit=Fit()),
    Column("p99 contended ÷ uncontended", _by_uncontended, fit=Fit()),
)
_FAIRNESS_COLUMNS: Sequence[Column[CellRow]] = (
    _SYSTEM,
    _WORKLOAD,
    Column(
        "Grants that overtook",
        lambda row: estimate_text(row.cell.value("overtaking_share"), _percent, row.cell),
        fit=Fit(),
    ),
    Column(
        "Jain's index",
        lambda row: estimate_text(row.cell.value("jain_index"), lambda value: f"{value.value:.2f}", row.cell),
        fit=Fit(),
    ),
    _ms("Longest wait", "longest_wait_us"),
    _ms("Wait by time", "wait_by_time_us"),
    Column("Clients without a grant", lambda row: whole_text(row.cell, "clients_without_grant"), fit=Fit()),
    Column("Timeouts and refusals", _refused, fit=Fit()),
)
