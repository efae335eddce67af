"""Every cell of a campaign on one line: what the clients did, what came of it, and what the load says of itself."""

from collections.abc import Iterable

from bench.analysis import names
from bench.analysis.cells import STALLS_NEEDED, Absent, Cell
from bench.records.workload import Workload, parameters
from bench.report import formats
from bench.report.table_model import Comparison, LongRow, Text

HEADER = ("System", "Workload", "What the clients did", "p50, ms", "p99, ms", "Pairs/s", "Of the load itself")
# The parameters of a user's own cell that are told beside those of every cell: no mode says them.
_TOLD_OF_OWN = ("ttl_ms", "timeout_ms", "measure_s", "processes")
TITLE = "Every workload"
EXPLANATION = (
    "Latencies of an acquire, waiting included. Those of `rate` count from the instant at which the schedule wanted "
    "the operation (open loop), so that a stall shows in every operation that it delayed; all others count from the "
    "client's own start (closed loop)."
)


def rows(comparison: Comparison) -> list[tuple[LongRow, tuple[str, str, Text, Text, Text, str]]]:
    """The cells of `HEADER` after its first, with the row of the comparison that they belong to."""
    return [
        (row, _line(row.cells[title], row.own_marks.get(title, ())))
        for row in comparison.rows
        for title in sorted(row.cells, key=names.in_order)
    ]


def has_own(comparison: Comparison) -> bool:
    """Are there cells of the user's own, which stand in this table alone?"""
    return any(row.own_marks for row in comparison.rows)


def has_usual(comparison: Comparison) -> bool:
    """Are there cells of the mode's own parameters, which the other tables are about?"""
    return any(not cell.workload.label for row in comparison.rows for cell in row.cells.values())


def _line(cell: Cell, marks: tuple[int, ...]) -> tuple[str, str, Text, Text, Text, str]:
    phase = "response" if cell.workload.rate_per_s else "acquire"
    p50, p99 = (cell.value(f"{phase}_us_{quantile}") for quantile in ("p50", "p99"))
    rate = cell.value("throughput_pairs_per_s")
    return (
        cell.workload.title,
        _asked(cell.workload),
        Text(formats.ms_value(p50, binds=cell.latency_bounds), marks, measured=not isinstance(p50, Absent)),
        Text(formats.ms_value(p99, binds=cell.latency_bounds), measured=not isinstance(p99, Absent)),
        Text(formats.rate_value(rate, cell.bounds), measured=not isinstance(rate, Absent)),
        _of_the_load(cell),
    )


def _asked(workload: Workload) -> str:
    clients = formats.counted([workload.clients], "client")
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
    parts.append(f"wait {workload.wait}")
    if workload.label:
        told = [(one, getattr(workload, one.field)) for one in parameters() if one.field in _TOLD_OF_OWN]
        usual = {"processes": 1, **({"timeout_ms": workload.timeout_ms} if workload.wait == "try" else {})}
        parts = [workload.name, *parts, *(one.text(value) for one, value in told if value != usual.get(one.field))]
    return ", ".join(parts)


def _of_the_load(cell: Cell) -> str:
    stalls = cell.value("stalls_p99")
    told = list(_of_its_model(cell))
    if not isinstance(stalls, Absent) and stalls.low >= STALLS_NEEDED:
        told.append(f"p99 on {formats.counted([int(stalls.low)], 'stall')} or more")
    return "; ".join(told) or formats.NOTHING


def _of_its_model(cell: Cell) -> Iterable[str]:
    counts = [run.load_counts for run in cell.used]
    if cell.workload.rate_per_s:
        unsent, arrivals = (sum(one.get(name, 0) for one in counts) for name in ("unsent", "arrivals"))
        yield f"unsent {unsent:,} of {arrivals:,} arrivals"
    knees = [one["knee_clients"] for one in counts if "knee_clients" in one]
    if knees:
        windows = [one["window_clients"] for one in counts if "window_clients" in one]
        yield f"knee at {formats.spread(knees)}, window with {formats.spread(windows)} clients"
