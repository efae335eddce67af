"""The first page's table, line by line: for each property the claim beside what this campaign saw."""

from collections.abc import Callable, Iterable

from bench.analysis.cells import NOT_MEASURED, Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.tokens import events_that_lower
from bench.report import formats
from bench.report.cell_texts import claimed_number, none_or_unlike
from bench.report.contention_table import changed_hands
from bench.report.formats import NOTHING, RANGE
from bench.report.hazard_cells import clock_sensitivity, pause_safety
from bench.report.model import Text
from bench.report.table_model import ABSENT, Footnotes, Pair, Property

_EVENTS = {
    "entry_deleted": "its entry was deleted",
    "server_killed": "a server kill",
    "server_restarted_empty": "a restart without data",
}
TOKEN_CHECK = "token_order"  # the self-check that every run makes of its own grants


def properties(evidence: Evidence, notes: Footnotes) -> Iterable[Property]:
    """The lines of the table, top to bottom, for the headline systems."""
    yield _numbers(
        evidence,
        "acquire_latency",
        "Acquire latency",
        f"ms, p50{RANGE}p99, without contention",
        _latency(notes),
    )
    yield _numbers(evidence, "throughput", "Throughput", "pairs of acquire and release per second", _rate(notes))
    yield _words(
        evidence, "fencing", "Fencing token", "a number that rises with every grant", _fencing(evidence, notes)
    )
    yield _words(evidence, "pause_safety", "Safe when the holder pauses", "", pause_safety(evidence, notes))
    yield _words(evidence, "clock_skew", "Sensitive to clocks", "", clock_sensitivity(evidence, notes))
    yield _words(evidence, "consensus", "Consensus required", "what had to agree here", _quorum(evidence))
    yield _words(evidence, "operational_cost", "Operational cost", "servers as run here", _servers(evidence))
    contended = {system: Pair(NOTHING, _contended(evidence, system, notes)) for system in evidence.headline}
    yield Property("contention", "Under contention", "mean acquire in ms, waiting included", contended)


def _numbers(
    evidence: Evidence, metric: str, title: str, detail: str, measured: Callable[[tuple[Cell, ...]], Text]
) -> Property:
    workload = {"acquire_latency": "uncontended", "throughput": "saturation"}[metric]
    pairs = {
        system: Pair(claimed_number(evidence, system, metric), measured(evidence.cells_for(system, workload)))
        for system in evidence.headline
    }
    return Property(metric, title, detail, pairs)


def _words(evidence: Evidence, key: str, title: str, detail: str, measured: Callable[[str], Text]) -> Property:
    claimed = {cell.system: cell.claimed for cell in evidence.seed_table if cell.property == key}
    pairs = {system: Pair(claimed.get(system, NOTHING), measured(system)) for system in evidence.headline}
    return Property(key, title, detail, pairs)


def _latency(notes: Footnotes) -> Callable[[tuple[Cell, ...]], Text]:
    def measured(cells: tuple[Cell, ...]) -> Text:
        if len(cells) != 1:
            return none_or_unlike(cells)
        p50, p99 = cells[0].value("acquire_us_p50"), cells[0].value("acquire_us_p99")
        if isinstance(p50, Absent):
            return Text(p50.reason, notes.of(cells[0]), measured=False, runs=cells[0].evidence)
        binds = cells[0].latency_bounds
        high = p99.reason if isinstance(p99, Absent) else formats.ms_alone(p99, binds)
        dash = f" {RANGE} " if isinstance(p99, Absent) or p50.modes or p99.modes else RANGE
        most, told = (f"≤{formats.NO_BREAK}", f" ({formats.bound_words(binds)})") if binds else ("", "")
        return Text(
            f"{most}{formats.ms_alone(p50, binds)}{dash}{high}{told}", notes.of(cells[0]), runs=cells[0].evidence
        )

    return measured


def _rate(notes: Footnotes) -> Callable[[tuple[Cell, ...]], Text]:
    def measured(cells: tuple[Cell, ...]) -> Text:
        if len(cells) != 1:
            return none_or_unlike(cells)
        value = cells[0].value("throughput_pairs_per_s")
        if isinstance(value, Absent):
            return Text(value.reason, notes.of(cells[0]), measured=False, runs=cells[0].evidence)
        words = formats.rate_value(value, cells[0].bounds) if cells[0].bounds else formats.whole(value.value)
        return Text(words, notes.of(cells[0]), runs=cells[0].evidence)

    return measured


def _fencing(evidence: Evidence, notes: Footnotes) -> Callable[[str], Text]:
    """What the runs saw of the token: that it rose is checked by each run's own `token_order` check."""

    def measured(system: str) -> Text:
        cells = evidence.cells_for(system, "contended")
        seen = [run for cell in cells for run in cell.runs if run.capabilities]
        # A token that did not rise may be why a run is void: look for it before asking which runs count.
        broken = any(check.name == TOKEN_CHECK for run in seen for check in run.failed_checks)
        runs = [run for run in seen if broken or not run.void]
        if not runs:
            return ABSENT
        ids = tuple(run.run_id for run in runs)
        if not any(run.capabilities.get("fencing_source") for run in runs):
            return Text("no token", notes.of(*cells), runs=ids)
        if broken:
            return Text("did not rise", notes.of(*cells), runs=ids)
        if not all(TOKEN_CHECK in run.passed_checks for run in runs):
            return Text(f"order {NOT_MEASURED}", notes.of(*cells), measured=False, runs=ids)
        grants = sum(run.operations for run in runs)
        rose = f"rose over {formats.whole(grants)} contended grants"
        return Text("; ".join([rose, *_falls(evidence, system)]), notes.of(*cells), runs=ids)

    return measured


def _falls(evidence: Evidence, system: str) -> list[str]:
    """What the token did not survive, as trials of the hazard lab showed: contended grants alone would hide it."""
    events = events_that_lower(evidence.hazards.tokens, system) if evidence.hazards is not None else ()
    told = [_EVENTS[event] for event in events if event in _EVENTS]
    return [f"fell after {', '.join(told)}"] if told else []


def _quorum(evidence: Evidence) -> Callable[[str], Text]:
    def measured(system: str) -> Text:
        seen = [run for run in evidence.rows if run.system == system and run.capabilities]
        if not seen:
            return ABSENT
        nodes, quorum = (seen[0].capabilities.get(name, "") for name in ("nodes", "quorum"))
        if not nodes or not quorum:
            return ABSENT
        words = "one server decides" if nodes == "1" else f"{quorum} of {nodes} servers"
        return Text(words, runs=tuple(run.run_id for run in seen))

    return measured


def _servers(evidence: Evidence) -> Callable[[str], Text]:
    def measured(system: str) -> Text:
        cells = [cell for cell in evidence.cells if cell.system == system and cell.setting is not None]
        if not cells:
            return ABSENT
        settings = dict.fromkeys(cell.setting for cell in cells if cell.setting is not None)
        words = [f"{formats.servers(one.nodes)}, {one.source}" for one in settings]
        return Text("; ".join(dict.fromkeys(words)), runs=tuple(run for cell in cells for run in cell.evidence))

    return measured


def _contended(evidence: Evidence, system: str, notes: Footnotes) -> Text:
    cells = evidence.cells_for(system, "contended")
    if len(cells) != 1:
        return none_or_unlike(cells)
    mean = cells[0].value("acquire_us_mean")
    if isinstance(mean, Absent):
        return Text(mean.reason, notes.of(cells[0]), measured=False, runs=cells[0].evidence)
    hands = changed_hands(cells[0]).partition(" [")[0]
    told = f"; {hands} of grants changed hands" if hands else ""
    return Text(f"{formats.ms_alone(mean, cells[0].latency_bounds)}{told}", notes.of(cells[0]), runs=cells[0].evidence)
