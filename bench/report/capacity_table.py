"""Processor time for each acquire and release, on both sides: what no load generator limits."""

from collections.abc import Callable, Sequence

from bench.analysis.cells import Absent
from bench.records.workload import SATURATION, UNCONTENDED
from bench.report import formats
from bench.report.cell_texts import estimate_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import CellRow, Comparison, cell_rows, system_column

TITLE = "Capacity, without the generator"
_EXPLANATION = (
    "Processor time that an acquire and its release cost, from the kernel: of all servers together, their idle work "
    "included, and of the client. Pairs for each second of the servers' processor time are what their processors could "
    "do if nothing else were the limit: no disk, no generator, no queue. They travel better than a rate."
)
_SERVERS, _CLIENT, _PAIRS = "server_cpu_us_per_pair", "client_cpu_us_per_pair", "pairs_per_server_core_s"


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no servers are processes whose time was recorded."""
    rows = [row for row in cell_rows(comparison) if _tells(row)]
    return (Heading(TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, rows)) if rows else ()


def _tells(row: CellRow) -> bool:
    """Over delay lines servers wake more often, so that their processor time is another."""
    workload = row.cell.workload
    if workload.name not in (UNCONTENDED, SATURATION) or workload.has_network or workload.has_peer_network:
        return False
    return not isinstance(row.cell.value(_SERVERS), Absent)


def _value(metric: str) -> Callable[[CellRow], Text]:
    return lambda row: estimate_text(row.cell.value(metric), formats.whole_value, row.cell)


_COLUMNS: Sequence[Column[CellRow]] = (
    system_column(lambda row: row.row),
    Column("Workload", lambda row: row.cell.workload.title, fit=Fit()),
    Column("Servers, all together", _value(_SERVERS), unit="µs a pair", fit=Fit()),
    Column("Client", _value(_CLIENT), unit="µs a pair", fit=Fit()),
    Column("Pairs per core-second of the servers", _value(_PAIRS), fit=Fit()),
    Column("Runs", lambda row: str(len(row.cell.used)), fit=Fit(width=4, right=True)),
)
