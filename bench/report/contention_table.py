"""Who got the lock next, and how long those waited who had to: what a p50 under contention does not tell."""

from bench.analysis import names
from bench.analysis.cells import NOT_RECORDED, Absent, Cell
from bench.report import formats
from bench.report.table_model import Comparison, LongRow, Text

HEADER = (
    "System",
    "Workload",
    "Mean acquire, ms",
    "Grants that changed hands",
    "Longest streak of one client",
    "Their wait when it changed hands: p50, ms",
    "p99, ms",
)
TITLE = "Who got the lock next"
EXPLANATION = (
    "Under contention the median can lie below the uncontended one: without think time whoever releases takes the lock "
    "again at once, while the others wait. So the mean says what an acquire cost on average, and the wait of the "
    "grants that changed hands what it cost those who had to wait. Of shares and streaks the median run is shown, with "
    "the range of the runs."
)


def rows(comparison: Comparison) -> list[tuple[LongRow, tuple[str, Text, Text, Text, Text, Text]]]:
    """The cells of `HEADER` after its first, with the row of the comparison that they belong to."""
    shared = [(row, row.cells[name]) for row in comparison.rows for name in sorted(row.cells, key=names.in_order)]
    return [(row, _line(cell)) for row, cell in shared if cell.workload.keys]


def changed_hands(cell: Cell) -> str:
    """The share of grants that went to another client than before, with its range; "" where it is not recorded."""
    share = cell.value("changed_hands_share")
    if isinstance(share, Absent):
        return ""
    bounds = f" [{share.low:.0%}{formats.RANGE}{share.high:.0%}]" if share.runs > 1 else ""
    return f"{share.value:.0%}{bounds}"


def _line(cell: Cell) -> tuple[str, Text, Text, Text, Text, Text]:
    streak = cell.value("longest_streak")
    told = streak.reason if isinstance(streak, Absent) else formats.whole_value(streak)
    hands = changed_hands(cell)
    return (
        cell.workload.title,
        _ms(cell, "acquire_us_mean"),
        Text(hands or NOT_RECORDED, measured=bool(hands)),
        Text(told, measured=not isinstance(streak, Absent)),
        _ms(cell, "handed_wait_us_p50"),
        _ms(cell, "handed_wait_us_p99"),
    )


def _ms(cell: Cell, metric: str) -> Text:
    value = cell.value(metric)
    return Text(formats.ms_value(value, binds=cell.bounds_of(metric)), measured=not isinstance(value, Absent))
