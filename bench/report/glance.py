"""The first page's table, line by line: for each property the claim beside what this campaign saw."""

from collections.abc import Callable, Iterable, Mapping

from bench.analysis.cells import NOT_MEASURED, Absent, Cell
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.tokens import events_that_lower
from bench.analysis.intervals import Estimate
from bench.report import formats
from bench.report.cell_texts import by_fair_words, claimed_number, estimate_text, held
from bench.report.formats import NOTHING, RANGE
from bench.report.hazard_cells import clock_sensitivity, pause_safety
from bench.report.model import Text
from bench.report.table_model import ABSENT, UNLIKE, Footnotes, Pair, Property

_EVENTS = {
    "entry_deleted": "its entry was deleted",
    "server_killed": "a server kill",
    "server_restarted_empty": "a restart without data",
}
NO_TOKEN = "no token"
TOKEN_CHECK = "token_order"  # the self-check that every run makes of its own grants


def properties(evidence: Evidence, notes: Footnotes) -> Iterable[Property]:
    """The lines of the table, top to bottom, for the headline systems."""

    def one(workload: str, metric: str, words: Callable[[Cell, Estimate], str]) -> Callable[[str], Text]:
        return lambda system: _of_one(evidence.cells_for(system, workload), metric, notes, words)

    latencies = _numbers(evidence, "acquire_latency", one("uncontended", "acquire_us_p50", _latency))
    yield Property("acquire_latency", "Acquire latency", f"ms, p50{RANGE}p99, without contention", latencies)
    rates = _numbers(evidence, "throughput", one("saturation", "throughput_pairs_per_s", _rate))
    yield Property("throughput", "Throughput", "pairs of acquire and release per second", rates)
    yield _words(
        evidence, "fencing", "Fencing token", "a number that rises with every grant", _fencing(evidence, notes)
    )
    yield _words(evidence, "pause_safety", "Safe when the holder pauses", "", pause_safety(evidence, notes))
    yield _words(evidence, "clock_skew", "Sensitive to clocks", "", clock_sensitivity(evidence, notes))
    quorum, servers = _quorum(evidence), _servers(evidence)
    yield _words(evidence, "consensus", "Consensus required", "what had to agree here", quorum, of_runs=False)
    yield _words(evidence, "operational_cost", "Operational cost", "servers as run here", servers, of_runs=False)
    contended = {system: Pair(NOTHING, _waiting(evidence, system, notes)) for system in evidence.headline}
    yield Property(
        "contention", "Under contention", "ms, p50 of the hand-off; p99 of the wait ÷ a fair queue", contended
    )


def _numbers(evidence: Evidence, metric: str, measured: Callable[[str], Text]) -> Mapping[str, Pair]:
    return {name: Pair(claimed_number(evidence, name, metric), measured(name)) for name in evidence.headline}


def _words(
    evidence: Evidence, key: str, title: str, detail: str, measured: Callable[[str], Text], *, of_runs: bool = True
) -> Property:
    claimed = {cell.system: cell.claimed for cell in evidence.seed_table if cell.property == key}
    pairs = {system: Pair(claimed.get(system, NOTHING), measured(system)) for system in evidence.headline}
    return Property(key, title, detail, pairs, of_runs)


def _of_one(cells: tuple[Cell, ...], metric: str, notes: Footnotes, words: Callable[[Cell, Estimate], str]) -> Text:
    """What the only cell says; several were too unlike to pool."""
    if len(cells) != 1:
        return UNLIKE if cells else ABSENT
    (cell,) = cells
    return estimate_text(cell.value(metric), lambda value: words(cell, value), cell, notes.of(cell))


def _waiting(evidence: Evidence, system: str, notes: Footnotes) -> Text:
    cells = tuple(evidence.of_waiting(cell)[0] for cell in evidence.cells_for(system, "contended"))
    return _of_one(cells, "hand_off_us_p50", notes, _contended)


def _latency(cell: Cell, p50: Estimate) -> str:
    p99, binds = cell.value("acquire_us_p99"), cell.latency_bounds
    high = p99.reason if isinstance(p99, Absent) else formats.ms_alone(p99, binds)
    dash = f" {RANGE} " if isinstance(p99, Absent) or p50.modes or p99.modes else RANGE
    most, bound = (f"≤{formats.NO_BREAK}", f" ({formats.bound_words(binds)})") if binds else ("", "")
    return f"{most}{formats.ms_alone(p50, binds)}{dash}{high}{bound}"


def _rate(cell: Cell, value: Estimate) -> str:
    return formats.rate_value(value, cell.bounds) if cell.bounds else formats.whole(value.value)


def _contended(cell: Cell, hand_off: Estimate) -> str:
    return f"{formats.ms_alone(hand_off, cell.latency_bounds)}; {by_fair_words(cell, brief=True)}, {held(cell)}"


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
            return Text(NO_TOKEN, notes.of(*cells), runs=ids)
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
    known = [_EVENTS[event] for event in events if event in _EVENTS]
    return [f"fell after {', '.join(known)}"] if known else []


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
