"""Round trips counted by the clock: how much longer an operation takes for each µs that a round trip is longer.

The slope of the median latency over the measured round trip is the number of round trips that follow one another,
whatever the machine; all that does not depend on the network is in the intercept. Theil and Sen's estimate: the median
of the slopes between all pairs of runs over different networks. Its interval is Sen's (JASA 63, 1968), from the ranks
of Kendall's test, and needs no assumption about the noise: a run that something else disturbed moves it little.

Those between client and server and those between servers are counted apart: one network varies, the other stays.

A hand-off is counted where clients are woken, or are handed the lock. Where they poll, a pause that the network does
not change and the luck of who asks first decide when the next one has it.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.analysis import names
from bench.analysis.runs import RunRow, Setting
from bench.records.schema import NetworkMeasured
from bench.records.workload import CONTENDED, HOLDER_KILLED, UNCONTENDED, Workload
from bench.systems.registry import Trips

OPERATIONS = ("acquire", "release")  # of a lone client
HAND_OFF = "hand-off"  # of clients that meet at one key
RECOVERY = "crash recovery"  # of the same, when a holder was killed: the time without a grant
COUNTED = (*OPERATIONS, HAND_OFF, RECOVERY)
NETWORKS_NEEDED = 3
AGREES_WITHIN = 0.15  # round trips
_TOLD_WITHIN = 2.0  # round trips: a wider interval says no number
_Z = 1.959964  # of 95 %
_ALIKE_WITHOUT = {"label", "warmup_s", "measure_s"}
CLIENTS, PEERS = "clients and servers", "servers"  # between whom


@dataclass(frozen=True, slots=True)
class _Between:
    """One of the two networks: where a workload asks for it, where a run has it, and what an adapter declares of it."""

    asked: str
    of: Callable[[RunRow], NetworkMeasured | None]
    declared: str  # with the operation's name in it, where each has its own
    handed: Callable[[Trips], int]  # of what a system states of its hand-offs


_BETWEEN: Mapping[str, _Between] = {
    CLIENTS: _Between("network", lambda run: run.network, "{}_round_trips", lambda trips: trips.client),
    PEERS: _Between("peer_network", lambda run: run.peer_network, "peer_round_trips", lambda trips: trips.peers),
}
BETWEEN = tuple(_BETWEEN)


@dataclass(frozen=True, slots=True)
class Slope:
    """Sequential round trips with their 95 % interval, and the latency that is left where there is no network."""

    round_trips: float
    low: float
    high: float
    fixed_us: float


@dataclass(frozen=True, slots=True)
class Counted:
    """One operation of one system over several networks."""

    system: str
    between: str  # of `BETWEEN`: whose round trips
    operation: str  # of `COUNTED`
    slope: Slope
    declared: int | None  # by the adapter; None: not recorded, or not for it to say
    runs: tuple[RunRow, ...]

    @property
    def agrees(self) -> bool | None:
        """Does the clock count what the adapter declares? None: it declares nothing."""
        return None if self.declared is None else abs(self.slope.round_trips - self.declared) <= AGREES_WITHIN

    @property
    def told(self) -> bool:
        """Does the clock tell a number? The end of a lease may vary by more than any network that was tried."""
        return self.slope.high - self.slope.low <= _TOLD_WITHIN

    def points(self) -> Sequence[tuple[float, float]]:
        """Measured round trip and median latency of each run, in µs, by the round trip."""
        return points(self.runs, self.operation, self.between)


def counted(rows: Iterable[RunRow]) -> tuple[Counted, ...]:
    """Every operation of every system that was measured over enough networks: systems in the order of the rows."""
    groups: dict[tuple[str, str, Setting | None, str], list[RunRow]] = {}
    for row in rows:
        for between, network in _BETWEEN.items():
            if _operations(row) and network.of(row) is not None:
                key = (between, row.system, row.setting, alike_but(row.workload, network.asked))
                groups.setdefault(key, []).append(row)
    found = []
    for (between, system, *_), runs in groups.items():
        network = _BETWEEN[between]
        for operation in _operations(runs[0]):
            measured = [
                (*point, getattr(run.workload, network.asked)) for run, point in _pairs(runs, operation, network)
            ]
            slope = theil_sen(measured)
            if slope is not None:
                declared = _declared(runs[0], operation, network)
                found.append(Counted(system, between, operation, slope, declared, tuple(runs)))
    systems = list(dict.fromkeys(one.system for one in found))

    def order(one: Counted) -> tuple[int, int, int]:
        return systems.index(one.system), BETWEEN.index(one.between), COUNTED.index(one.operation)

    return tuple(sorted(found, key=order))


def points(runs: Iterable[RunRow], operation: str, between: str = CLIENTS) -> Sequence[tuple[float, float]]:
    """Measured round trip and median latency of those runs that have both, in µs, by the round trip."""
    return sorted(point for _, point in _pairs(runs, operation, _BETWEEN[between]))


def theil_sen(measured: Sequence[tuple[float, float, str]]) -> Slope | None:
    """From round trip, latency (both in µs) and network of each run. None: over too few networks to tell."""
    networks: Mapping[str, int] = {name: sum(one[2] == name for one in measured) for _, _, name in measured}
    if len(networks) < NETWORKS_NEEDED:
        return None
    slopes = sorted(
        (y2 - y1) / (x2 - x1) for (x1, y1, a), (x2, y2, b) in combinations(measured, 2) if a != b and x1 != x2
    )
    slope = statistics.median(slopes)
    ties = sum(count * (count - 1) * (2 * count + 5) for count in networks.values())
    runs = len(measured)
    variance = (runs * (runs - 1) * (2 * runs + 5) - ties) / 18.0  # of Kendall's S, with ties in x
    out = math.floor((len(slopes) - _Z * math.sqrt(variance)) / 2.0)  # so many slopes lie outside at each end
    low, high = (slopes[out], slopes[-1 - out]) if out >= 0 else (slopes[0], slopes[-1])
    fixed_us = statistics.median(y - slope * x for x, y, _ in measured)
    return Slope(slope, low, high, fixed_us)


def is_alone(row: RunRow) -> bool:
    """Is it a run of a lone client, without contention, that counts?"""
    return not row.void and row.workload.name == UNCONTENDED and row.workload.clients == 1


def meet(workload: Workload) -> bool:
    """Do all clients wait for one key, and for nothing else, with nothing that strikes them?"""
    alike = workload.name == CONTENDED and workload.keys == 1
    return alike and not (workload.strangers or workload.pool or workload.think_ms or workload.has_fault)


def alike_but(workload: Workload, *networks: str) -> str:
    """What runs have in common that differ in these networks alone, and in how long they are."""
    return repr(workload.model_dump(exclude={*_ALIKE_WITHOUT, *networks}))


def _operations(row: RunRow) -> Sequence[str]:
    """What the run of a row tells of; nothing where it is void, or about something else."""
    if is_alone(row):
        return OPERATIONS
    if row.void:
        return ()
    if row.workload.fault == HOLDER_KILLED:
        return (RECOVERY,)
    return (HAND_OFF,) if meet(row.workload) and not names.polls(names.strategy(row.workload.wait)) else ()


def _declared(run: RunRow, operation: str, network: _Between) -> int | None:
    """A crash is over when a lease ends, which nobody declares a number of round trips of."""
    if operation == RECOVERY:
        return None
    handed = names.hand_off_trips(run.system, names.strategy(run.workload.wait)) if operation == HAND_OFF else None
    if handed is not None:
        return network.handed(handed)
    number = run.capabilities.get(network.declared.format("acquire" if operation == HAND_OFF else operation))
    return None if number is None else int(number)


def _latency_us(run: RunRow, operation: str) -> float | None:
    if operation == RECOVERY:
        never = run.availability.get("grants_again") == 0.0
        return None if never or "without_grant_s" not in run.availability else 1e6 * run.availability["without_grant_s"]
    return run.metrics.get(f"{operation.replace('-', '_')}_us_p50")


def _pairs(runs: Iterable[RunRow], operation: str, between: _Between) -> Sequence[tuple[RunRow, tuple[float, float]]]:
    found = []
    for run in runs:
        network, latency_us = between.of(run), _latency_us(run, operation)
        if network is not None and latency_us is not None:
            found.append((run, (network.rtt_us, latency_us)))
    return found
