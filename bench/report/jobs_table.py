"""Lock or no lock: the same job by every way, against the number of contenders."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from bench.analysis import names
from bench.analysis.cells import Cell
from bench.analysis.intervals import Estimate
from bench.analysis.jobs import Crossing, WayLine, crossings, way_lines
from bench.records.workload import BY_KEY, BY_ROW_LOCK, BY_VERSION, CONSUME
from bench.report import formats
from bench.report.cell_texts import estimate_text, ms_text
from bench.report.formats import NOTHING
from bench.report.model import Block, Bullets, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.table_model import Comparison

TITLE = "Lock or no lock"
_EXPLANATION = (
    "The same job by each way: read a record, compute, write it. A lock's holder shows its token to the row with its "
    "read, and the row refuses older ones. Without a lock, the row's own lock, its version or a key of the message "
    "does that work beside the data. Lines of code are those of the way; a lock's client library comes on top. The "
    "crossing point is the number of contenders from which on FOR UPDATE does more jobs per second than optimism."
)
_P99 = "The slowest job in a hundred"
_P99_EXPLANATION = "From a job's beginning to its end, retries and waiting included, by number of contenders."
_WAYS = {BY_ROW_LOCK: "SELECT … FOR UPDATE", BY_VERSION: "Row version", BY_KEY: "Idempotency key"}
_JOBS = {"update": "update one record", "consume": "consume each message once"}
_HARMS = {"lost_updates": "overwritten", "missing": "missing", "repeated": "done twice"}


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """The section; none where no jobs were done."""
    return blocks_of([cell for row in comparison.rows for cell in row.cells.values()])


def blocks_of(cells: Iterable[Cell]) -> tuple[Block, ...]:
    """The same of some cells."""
    lines = way_lines(cells)
    found: list[Block] = []
    for job, group in groupby(lines, key=job_words):
        of_job = list(group)
        counts = sorted({cell.workload.clients for line in of_job for cell in line.cells})
        found += [
            Heading(f"{TITLE}: {job}", level=3),
            Table([*_ways(), *_by_clients(counts, _rate_at, "jobs/s"), *_ends(counts)], of_job),
        ]
        if points := [crossing_words(one) for one in crossings(of_job)]:
            found.append(Bullets(points))
        found += [Heading(f"{_P99}: {job}", level=3), Table([*_ways(), *_by_clients(counts, _p99_at, "ms")], of_job)]
    return (Heading(TITLE), Paragraph(_EXPLANATION), *found) if found else ()


def job_words(line: WayLine) -> str:
    """The job of a line, with what it depends on."""
    does = line.workload
    words = _JOBS[does.name]
    if does.name != CONSUME and does.keys > 1:
        words = f"update any of {does.keys} records"
    return f"{words}, {does.compute_ms:g} ms of computing"


def way_title(line: WayLine) -> str:
    """What a table and a figure call a way."""
    does = line.workload
    if line.by_lock:
        return f"{names.title(line.system)}, lock {'and fence' if line.fenced else 'without a fence'}"
    if does.way != BY_VERSION:
        return _WAYS.get(does.way, does.way)
    return f"{_WAYS[BY_VERSION]}, {'again at once' if line.at_once else does.wait}"


def crossing_words(found: Crossing) -> str:
    """Where optimism stops paying, as a sentence."""
    counts = ", ".join(map(str, found.hidden))
    hidden = f"; with {counts} contenders the lesser number is only a limit" if found.hidden else ""
    who = f"{way_title(found.optimistic)} and {way_title(found.locking)}: crossing point"
    return f"{who} {_place_of(found)}{hidden}."


def _place_of(found: Crossing) -> str:
    runs = formats.counted([found.runs], "run")
    if found.clients is None and found.seen:
        return (
            f"seen in {len(found.seen)} of {runs}, at {formats.spread(found.seen)} contenders; in the others not up to "
            f"{found.up_to}"
        )
    if found.clients is None:
        return f"not seen up to {found.up_to} contenders ({runs})" if found.up_to else f"not known ({runs})"
    low, high = f"{found.seen[0]}", f"{found.seen[-1]}"
    if len(found.seen) < found.runs:
        high = f"more than {found.up_to}"
    interval = f" [{low}{formats.RANGE}{high}]" if low != high else ""
    return f"at {found.clients:g}{interval} contenders ({runs})"


def harm_words(line: WayLine) -> str:
    """What went wrong with the jobs of a line: 0, or how many and how."""
    if not line.jobs:
        return NOTHING
    counts = {words: sum(getattr(one, name) for one in line.jobs) for name, words in _HARMS.items()}
    words = ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)
    return words or f"0 of {sum(one.acknowledged for one in line.jobs):,}"


def _ways() -> Sequence[Column[WayLine]]:
    return (
        Column(
            "Way", lambda line: Text(way_title(line), measured=None, tags=names.tags(line.system)), fit=Fit(width=24)
        ),
    )


def _by_clients(
    counts: Sequence[int], at: Callable[[int], Callable[[WayLine], Text]], unit: str
) -> Sequence[Column[WayLine]]:
    """A column for each number of contenders."""
    return [
        Column(
            f"{formats.counted([clients], 'client')}",
            at(clients),
            unit=unit,
            fit=Fit(header=f"{clients}", width=8, right=True, brief=True),
        )
        for clients in counts
    ]


def _ends(counts: Sequence[int]) -> Sequence[Column[WayLine]]:
    return (
        Column(f"Retries per job at {counts[-1]}", _retries_at(counts[-1]), fit=Fit(header="Retries", width=8)),
        Column("Lost, missing or repeated", _harm, fit=Fit(header="Lost", width=10)),
        Column(
            "Lines of code",
            lambda line: formats.spread(line.lines_of_code) or NOTHING,
            fit=Fit(header="Lines", width=5, right=True),
        ),
    )


def _rate_at(clients: int) -> Callable[[WayLine], Text]:
    def text(line: WayLine) -> Text:
        if (cell := line.at(clients)) is None:
            return Text(NOTHING, measured=None)
        return estimate_text(cell.value("jobs_per_s"), lambda value: formats.rate_value(value, cell.bounds), cell)

    return text


def _p99_at(clients: int) -> Callable[[WayLine], Text]:
    def text(line: WayLine) -> Text:
        cell = line.at(clients)
        return Text(NOTHING, measured=None) if cell is None else ms_text(cell, "job_us_p99")

    return text


def _retries_at(clients: int) -> Callable[[WayLine], Text]:
    def text(line: WayLine) -> Text:
        if (cell := line.at(clients)) is None:
            return Text(NOTHING, measured=None)
        return estimate_text(cell.value("retries_per_job"), _plain, cell)

    return text


def _plain(value: Estimate) -> str:
    return formats.with_range(value, lambda one: "0" if not one else f"{one:.1f}")


def _harm(line: WayLine) -> Text:
    return Text(harm_words(line), runs=tuple(run_id for cell in line.cells for run_id in cell.evidence))
