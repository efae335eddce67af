"""Every cell of a campaign on one line: what the clients did, what came of it, and what the load says of itself."""

from collections.abc import Callable, Iterable, Sequence

from bench.analysis.cells import STALLS_NEEDED, Cell
from bench.records.workload import JOBS, Workload, parameters
from bench.report import formats
from bench.report.availability_table import fault_words
from bench.report.cell_texts import ms_text, rate_text
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import CellRow, Comparison, cell_rows, system_column

# The parameters of a user's own cell that are shown beside those of every cell: no mode says them.
_SHOWN_OF_OWN = ("ttl_ms", "timeout_ms", "measure_s", "processes")
_TITLE = "Every workload"
_EXPLANATION = (
    "Acquire latencies, waiting included. In `rate` (open loop) they count from the scheduled instant, so a stall "
    "shows in every operation that it delayed; in all other workloads (closed loop) from the client's own start."
)


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section, one line a cell; none where all of them are jobs."""
    table = workloads_table(comparison)
    if not table.rows and cell_rows(comparison):
        return ()
    return (Heading(_TITLE), Paragraph(_EXPLANATION), table)


def workloads_table(comparison: Comparison) -> Table[CellRow]:
    """The cells of a campaign; jobs have a table of their own."""
    rows = [row for row in cell_rows(comparison) if row.cell.workload.name not in JOBS]
    return Table(_COLUMNS, rows, empty="No workload was measured.")


def _latency(quantile: str) -> Callable[[CellRow], Text]:
    def text(row: CellRow) -> Text:
        phase = "response" if row.cell.workload.rate_per_s else "acquire"
        return ms_text(row.cell, f"{phase}_us_{quantile}", row.own_marks if quantile == "p50" else ())

    return text


def clients_words(workload: Workload) -> str:
    """What the clients did."""
    clients = formats.counted([workload.meeting_clients], "client")
    if workload.step_s:
        clients = f"up to {clients}"
    keys = "own keys" if not workload.keys else formats.counted([workload.keys], "key")
    parts = [clients, keys]
    if workload.rate_per_s:
        parts.insert(0, f"{workload.rate_per_s:g} arrivals a second ({workload.arrivals})")
    if workload.zipf_exponent:
        parts.append(f"Zipf {workload.zipf_exponent:g}")
    if workload.hold_ms:
        parts.append(f"held {workload.hold_ms:g} ms")
    if workload.think_ms:
        parts.append(f"think {workload.think_ms:g} ms ({workload.thinking})")
    parts.append(f"wait {workload.wait}")
    if workload.strangers:
        parts.append(formats.counted([workload.strangers], "stranger"))
    if workload.pool:
        parts.append(f"pool of {formats.counted([workload.pool], 'connection')}")
    if workload.has_fault:
        parts.append(fault_words(workload))
    if workload.label:
        values = [(one, getattr(workload, one.field)) for one in parameters() if one.field in _SHOWN_OF_OWN]
        usual = {"processes": 1, **({"timeout_ms": workload.timeout_ms} if workload.wait == "try" else {})}
        parts = [workload.name, *parts, *(one.text(value) for one, value in values if value != usual.get(one.field))]
    return ", ".join(parts)


def _asked(row: CellRow) -> Text:
    """On a terminal, which has no room for a column of it, with what the load says of itself."""
    words, load = clients_words(row.cell.workload), _of_the_load(row.cell)
    return Text(words, measured=None, short="" if load == formats.NOTHING else f"{words}; {load}")


def _of_the_load(cell: Cell) -> str:
    stalls = cell.stalls()
    details = list(_of_its_model(cell))
    if stalls is not None and stalls >= STALLS_NEEDED:
        details.append(f"p99 on {formats.counted([stalls], 'stall')} {'in all' if cell.workload.keys else 'or more'}")
    return "; ".join(details) or formats.NOTHING


def _of_its_model(cell: Cell) -> Iterable[str]:
    counts = [run.load_counts for run in cell.used]
    if cell.workload.rate_per_s:
        unsent, arrivals = (sum(one.get(name, 0) for one in counts) for name in ("unsent", "arrivals"))
        yield f"unsent {unsent:,} of {arrivals:,} arrivals"
    knees = [one["knee_clients"] for one in counts if "knee_clients" in one]
    if knees:
        windows = [one["window_clients"] for one in counts if "window_clients" in one]
        yield f"knee at {formats.spread(knees)}, window with {formats.spread(windows)} clients"


_COLUMNS: Sequence[Column[CellRow]] = (
    system_column(lambda row: row.row),
    Column("Workload", lambda row: row.cell.workload.title, fit=Fit(width=16)),
    Column("What the clients did", _asked, fit=Fit()),
    Column("p50", _latency("p50"), unit="ms", fit=Fit(width=12)),
    Column("p99", _latency("p99"), unit="ms", fit=Fit(width=12)),
    Column("Pairs/s", lambda row: rate_text(row.cell), fit=Fit(width=12)),
    Column("Load details", lambda row: _of_the_load(row.cell)),
)
