"""Who got the lock next, and how long those waited who had to: what a p50 under contention does not tell."""

from collections.abc import Sequence

from bench.analysis.cells import NOT_RECORDED, Absent, Cell
from bench.report import formats
from bench.report.cell_texts import ms_text, whole_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import CellRow, Comparison, cell_rows, system_column

_TITLE = "Who got the lock next"
_EXPLANATION = (
    "Under contention the median can lie below the uncontended one: without think time whoever releases takes the lock "
    "again at once, while the others wait. So the mean says what an acquire cost on average, and the wait of the "
    "grants that changed hands what it cost those who had to wait. Of shares and streaks the median run is shown, with "
    "the range of the runs."
)


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no keys were shared."""
    shared = [row for row in cell_rows(comparison) if row.cell.workload.keys]
    return (Heading(_TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, shared)) if shared else ()


def changed_hands(cell: Cell) -> str:
    """The share of grants that went to another client than before, with its range; "" where it is not recorded."""
    share = cell.value("changed_hands_share")
    if isinstance(share, Absent):
        return ""
    bounds = f" [{share.low:.0%}{formats.RANGE}{share.high:.0%}]" if share.runs > 1 else ""
    return f"{share.value:.0%}{bounds}"


def _hands(row: CellRow) -> Text:
    hands = changed_hands(row.cell)
    return Text(hands or NOT_RECORDED, measured=bool(hands), runs=row.cell.evidence)


_COLUMNS: Sequence[Column[CellRow]] = (
    system_column(lambda row: row.row),
    Column("Workload", lambda row: row.cell.workload.title, fit=Fit(width=12)),
    Column("Mean acquire", lambda row: ms_text(row.cell, "acquire_us_mean"), unit="ms", fit=Fit()),
    Column("Grants that changed hands", _hands, fit=Fit()),
    Column("Longest streak of one client", lambda row: whole_text(row.cell, "longest_streak"), fit=Fit()),
    Column(
        "Their wait when it changed hands: p50",
        lambda row: ms_text(row.cell, "handed_wait_us_p50"),
        unit="ms",
        fit=Fit(),
    ),
    Column("p99", lambda row: ms_text(row.cell, "handed_wait_us_p99"), unit="ms", fit=Fit()),
)
