"""What each step of the rules looks up. A number in a finding is one that was measured; none is written here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from bench.analysis import names
from bench.analysis.advice.situation import Finding, Looked
from bench.analysis.cells import NOT_MEASURED, Absent, Cell
from bench.analysis.floor import critical_path
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.recovery import Excess
from bench.analysis.hazards.tokens import events_that_lower
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.meaning import Role

Lookup = Callable[[Looked], Finding]
_CLOCKS = (Role.SERVER_CLOCKS, Role.CLOCK_SEARCH, Role.CLOCK_DRIFT, Role.CLIENT_CLOCKS)
_FENCED = (HazardVerdict.SAFE, HazardVerdict.WITH_FENCING)
_BARE = (HazardVerdict.SAFE,)
_SETTING = "durability"  # a parameter of trials that is a setting of the servers, and no circumstance
_US_PER_MS = 1_000.0


def real_service(looked: Looked) -> Finding:
    """Is it the service itself that was measured?"""
    if names.EMULATOR_TAG in names.tags(looked.system) or any(
        cell.emulator for cell in looked.evidence.cells if cell.system == looked.system
    ):
        return Finding(False, "an emulator was measured: its speed and its faults are not those of the service")
    return Finding(True, "the service itself was measured")


def pauses_with_fence(looked: Looked) -> Finding:
    """Is every pause of the holder harmless with the fence on, if its token is presented before the first read?"""
    return _by_verdicts(_usual(_verdicts(looked, Role.PAUSE_MAP)), _FENCED)


def pauses_without_fence(looked: Looked) -> Finding:
    """Is every pause of the holder harmless though nothing refuses a late write?"""
    return _by_verdicts(_usual(_verdicts(looked, Role.PAUSE_MAP)), _BARE)


def late_writes_with_fence(looked: Looked) -> Finding:
    """Is a write harmless that was sent in time and arrives late, or that its holder sends when it is cut off?"""
    return _by_verdicts(_verdicts(looked, Role.LATE_ARRIVAL, Role.CUT_OFF), _FENCED)


def late_writes_without_fence(looked: Looked) -> Finding:
    """The same where nothing refuses it."""
    return _by_verdicts(_verdicts(looked, Role.LATE_ARRIVAL, Role.CUT_OFF), _BARE)


def clocks(looked: Looked) -> Finding:
    """Did a jump or a drift of any clock give two holders?"""
    found = [one for one in _verdicts(looked, *_CLOCKS) if one.verdict is not HazardVerdict.NOT_MEASURED]
    if not found and _capability(looked, "lease_scope") == "none":
        return Finding(True, "no lease that a clock could end")
    return _by_verdicts(found, _FENCED)


def token_rises(looked: Looked) -> Finding:
    """Did the token rise whatever was done to its source?"""
    rows = [] if looked.evidence.hazards is None else looked.evidence.hazards.tokens
    own = [row for row in rows if row.system == looked.system]
    runs = _once(run for row in own for run in row.evidence)
    shown_by = _shown_by(looked.system, Role.TOKEN_SOURCES)
    if not own:
        return Finding(None, NOT_MEASURED)
    fell = events_that_lower(own, looked.system)
    if fell:
        return Finding(False, f"the token fell: {', '.join(one.replace('_', ' ') for one in fell)}", runs, shown_by)
    grants = sum(row.grants for row in own)
    return Finding(True, f"the token rose over {grants:,} grants under every event that was tried", runs, shown_by)


def restart(looked: Looked) -> Finding:
    """Does a held lock survive a restart of the servers, with some setting of theirs?"""
    found = _verdicts(looked, Role.SERVERS_RESTARTED, Role.NODE_RESTARTED)
    by_setting = {setting: one for one in found if (setting := _setting(one))}
    circumstances = [one for one in found if not _setting(one)]
    if not by_setting:
        return _by_verdicts(circumstances, (*_FENCED, HazardVerdict.UNAVAILABLE))
    kept = {setting: one for setting, one in by_setting.items() if one.verdict is HazardVerdict.SAFE}
    if not kept:
        return _by_verdicts(by_setting.values(), _BARE)
    setting, one = next(iter(kept.items()))
    rest = _by_verdicts([one, *circumstances], (*_FENCED, HazardVerdict.UNAVAILABLE))
    return Finding(rest.passes, rest.words, rest.runs, rest.shown_by, setting=f"durability {setting}")


def failover(looked: Looked) -> Finding:
    """Does a held lock survive the loss of a server, with others that take over?"""
    lost = _verdicts(looked, Role.LEADER_LOST)
    if lost:
        return _by_verdicts(lost, (*_FENCED, HazardVerdict.UNAVAILABLE))
    nodes = _capability(looked, "nodes")
    stopped = [one for one in _verdicts(looked, Role.NODES_STOPPED) if one.verdict is not HazardVerdict.NOT_MEASURED]
    if stopped:
        return _by_verdicts(stopped, (*_FENCED, HazardVerdict.UNAVAILABLE))
    return Finding(
        False if nodes == "1" else None, "one server, with none to take over" if nodes == "1" else NOT_MEASURED
    )


def renewal(looked: Looked) -> Finding:
    """What became of holders that stalled while something renewed their lease, and while nothing did."""
    if _capability(looked, "lease_scope") == "none":
        return Finding(None, "no lease to renew: the lock ends with the connection")
    return _by_verdicts(_verdicts(looked, Role.RENEWAL), _BARE)


def first_sight(looked: Looked) -> Finding:
    """What became of late writes by when the resource first saw the new holder's token."""
    return _by_verdicts(_verdicts(looked, Role.LATE_AHEAD), _FENCED)


def budget(looked: Looked) -> Finding:
    """Is the latency budget within reach? By what was measured over loopback, and by what a network adds at least."""
    cell, within_ms = _cell(looked, "uncontended"), looked.situation.budget_ms
    if within_ms is None:
        return Finding(True, "no budget was given")
    if cell is None:
        return Finding(None, NOT_MEASURED)
    shown_by = ((cell.system, cell.workload.title),)
    value = cell.value("acquire_us_p99")
    if isinstance(value, Absent):
        return Finding(None, f"p99 {value.reason}", cell.evidence, shown_by)
    words = f"p99 {_ms(value.value)} ms over loopback, for a budget of {within_ms:g} ms"
    least_ms = value.low / _US_PER_MS
    path, trip_ms = critical_path(cell), looked.situation.round_trip_ms
    if trip_ms is not None and not isinstance(path, Absent):
        on_network = looked.evidence.environment.model_copy(update={"loopback_rtt_us_p50": trip_ms * _US_PER_MS})
        floor_ms = path.floor_us(on_network) / _US_PER_MS
        least_ms = max(least_ms, floor_ms)
        trips = f"{path.round_trips} round trip{'s' * (path.round_trips != 1)}"
        words += f"; {trips} in sequence, so at least {_number(floor_ms)} ms at {trip_ms:g} ms each"
    return Finding(least_ms <= within_ms, words, cell.evidence, shown_by)


def crash(looked: Looked) -> Finding:
    """How long after a crash of its holder does the next client have the lock, and can that be soon enough?"""
    hazards = looked.evidence.hazards
    points = [] if hazards is None else [one for one in hazards.recovery_points if one.system == looked.system]
    within_s = looked.situation.recover_within_s
    if not any(one.excess_ms is not None for one in points):
        return Finding(True if within_s is None else None, NOT_MEASURED)
    excess = Excess.of(points)
    runs, shown_by = _once(one.run_id for one in points), _shown_by(looked.system, Role.RECOVERY)
    late_ms = excess.p95_ms if excess.p95_ms is not None else excess.largest_ms
    words = f"the next client had the lock after the {excess.words}"
    if _capability(looked, "lease_scope") == "none":
        return Finding(True, f"{words}: the lock ends with the connection", runs, shown_by)
    shortest_s = min(one.ttl_ms for one in points) / 1_000.0
    if within_s is None:
        return Finding(True, words, runs, shown_by, setting="TTL: as long as the next client may wait after a crash")
    ttl_s = within_s - max(0.0, late_ms) / 1_000.0
    if ttl_s < shortest_s:
        tried = f"{words}; the shortest TTL that was tried is {shortest_s:g} s, too long for {within_s:g} s"
        return Finding(False, tried, runs, shown_by)
    return Finding(True, words, runs, shown_by, setting=f"TTL at most {_number(ttl_s)} s")


def latency(looked: Looked) -> Finding:
    """How long a free lock takes."""
    cell = _cell(looked, "uncontended")
    if cell is None:
        return Finding(None, NOT_MEASURED)
    shown_by = ((cell.system, cell.workload.title),)
    p50, p99 = cell.value("acquire_us_p50"), cell.value("acquire_us_p99")
    if isinstance(p50, Absent):
        return Finding(None, p50.reason, cell.evidence, shown_by)
    most = "at most " if cell.latency_bounds else ""
    high = p99.reason if isinstance(p99, Absent) else f"{most}{_ms(p99.high if most else p99.value)} ms"
    words = f"median {most}{_ms(p50.high if most else p50.value)} ms, p99 {high}, over loopback"
    return Finding(None, words, cell.evidence, shown_by, value=p50.value)


def waiting(looked: Looked) -> Finding:
    """How unfair the wait is, beside a fair queue with the same hold."""
    contended = looked.evidence.cells_for(looked.row or looked.system, "contended")
    cells = [looked.evidence.of_waiting(cell)[0] for cell in contended]
    if len(cells) != 1:
        return Finding(None, NOT_MEASURED)
    (cell,) = cells
    shown_by = ((cell.system, cell.workload.title),)
    ratio, hand_off = cell.value("wait_by_fair_p99"), cell.value("hand_off_us_p50")
    if isinstance(ratio, Absent):
        return Finding(None, ratio.reason, cell.evidence, shown_by, setting=f"wait strategy {cell.workload.wait}")
    if isinstance(hand_off, Absent):
        handed = ""
    elif hand_off.value < 0.0:
        handed = ", handed over before the release is answered"
    else:
        handed = f", a hand-off {_ms(hand_off.value)} ms"
    keys = f"{cell.workload.keys} key{'s' * (cell.workload.keys != 1)}"
    words = (
        f"with {cell.workload.clients} clients on {keys} the p99 wait is {_number(ratio.value)} times that of a fair "
        f"queue{handed}"
    )
    return Finding(None, words, cell.evidence, shown_by, f"wait strategy {cell.workload.wait}", ratio.value)


LOOKUPS: Mapping[str, Lookup] = MappingProxyType(
    {
        one.__name__: one
        for one in (
            real_service,
            pauses_with_fence,
            pauses_without_fence,
            late_writes_with_fence,
            late_writes_without_fence,
            clocks,
            token_rises,
            restart,
            failover,
            renewal,
            first_sight,
            budget,
            crash,
            latency,
            waiting,
        )
    }
)


def _verdicts(looked: Looked, *roles: Role) -> list[FaultVerdict]:
    """The verdicts of a system in the scenarios of these roles."""
    hazards = looked.evidence.hazards
    if hazards is None:
        return []
    scenarios = scenarios_in(*roles)
    return [one for one in hazards.verdicts if one.system == looked.system and one.line.fault in scenarios]


def _usual(found: Iterable[FaultVerdict]) -> list[FaultVerdict]:
    """Those of the protocol that the bench advises: the token is presented before the first read."""
    return [one for one in found if not one.line.variant]


def _by_verdicts(found: Iterable[FaultVerdict], accepted: Sequence[HazardVerdict]) -> Finding:
    """Passed where every verdict is accepted; those that are not are named, with their counts."""
    every = [one for one in found if one.verdict is not HazardVerdict.NOT_MEASURED]
    if not every:
        return Finding(None, NOT_MEASURED)
    failed = [one for one in every if one.verdict not in accepted]
    few = [one for one in every if one.counted.few]
    shown = failed or few or every
    words = "; ".join(map(_worded, shown))
    runs = _once(run for one in shown for run in one.evidence)
    rows = (row for one in shown for row in (*one.counted.rows, *one.counted.others))
    scenarios = _once(row.scenario for row in rows if row.run_id in runs)
    # What was never observed in too few runs is no verdict: it passes nobody, and fails nobody.
    return Finding(
        False if failed else None if few else True,
        words,
        runs,
        tuple((every[0].system, scenario) for scenario in scenarios),
    )


def _worded(one: FaultVerdict) -> str:
    few = ", in too few runs to say so" if one.counted.few else ""
    return f"{one.fault}: {one.verdict} ({one.telling.seen} of {one.telling.of}{few})"


def _setting(one: FaultVerdict) -> str:
    """The setting of the servers that a line is about; "" where it is about none."""
    if not one.line.variant:
        return ""
    return next(
        (str(row.parameter(_SETTING)) for row in (*one.counted.rows, *one.counted.others) if row.parameter(_SETTING)),
        "",
    )


def _cell(looked: Looked, workload: str) -> Cell | None:
    cells = looked.evidence.cells_for(looked.row or looked.system, workload)
    return cells[0] if len(cells) == 1 else None


def _capability(looked: Looked, name: str) -> str:
    """What the adapter says of itself, as a run of load or of faults recorded it."""
    rows = (row.capabilities for row in looked.evidence.rows if row.system == looked.system)
    hazards = looked.evidence.hazards
    played = () if hazards is None else (run.capabilities for run in hazards.runs if run.system == looked.system)
    return next((found[name] for found in (*rows, *played) if name in found), "")


def _shown_by(system: str, *roles: Role) -> tuple[tuple[str, str], ...]:
    return tuple((system, scenario) for scenario in scenarios_in(*roles))


def _once(runs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(runs))


def _ms(value_us: float) -> str:
    return _number(value_us / _US_PER_MS)


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{float(f'{value:.3g}'):,g}"
