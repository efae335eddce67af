"""What an operation costs over a network of one's own:

    round trips x RTT + round trips between servers x their RTT + durable writes x fdatasync + a fixed cost

The counts are of the algorithm and travel; the fixed cost (processor time, the kernel, the rest of the server) is of
the machine that measured, and does not. Nothing is fitted but the counts: each run's fixed cost is what its median
leaves over, and a run is carried to another network by exchanging what its round trips and writes cost there for what
they cost here. What several carried runs say together is the prediction.

The number of round trips is the integer that the adapter declares where the clock's slope agrees with it: round trips
are counted, not estimated, and over a long network a slope of 1.02 would add what nobody sends. Where the slope does
not agree, the slope counts, for then the declaration is what is wrong. Round trips between servers are counted in the
same way where a campaign had several networks there, and else as declared.

Carried are the runs over the nearest networks. What is fixed is not quite: a processor that slept through a longer
round trip wakes later, and over long networks chance moves a median by more than a whole short round trip.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.intervals import Estimate, Method, median_bounds, one_more_run
from bench.analysis.network.samples import Sample, Sampled
from bench.analysis.network.slopes import AGREES_WITHIN, OPERATIONS, Slope, theil_sen
from bench.records.schema import Environment

NEAREST = 3  # networks whose runs are carried: with two runs each, as many as an interval needs
_ALIKE_BELOW_US = 100.0  # round trips shorter than that are all nearly none


@dataclass(frozen=True, slots=True)
class Network:
    """What lies before and between the servers, and below them; in µs."""

    rtt_us: float
    peer_rtt_us: float
    fdatasync_us: float


@dataclass(frozen=True, slots=True)
class Count:
    """How many round trips one after another; `slope` is the clock's own count, None where it has none."""

    number: float
    slope: Slope | None

    @property
    def measured(self) -> bool:
        return self.slope is not None


@dataclass(frozen=True, slots=True)
class Predicted:
    """Latencies in µs: where the median of one more run would lie; p99 None where too few operations carry it."""

    p50: Estimate
    p99: Estimate | None  # with the tail of the machine that measured


@dataclass(frozen=True)
class CostModel:
    """One operation of one system."""

    system: str
    operation: str  # of `OPERATIONS`
    samples: tuple[Sample, ...]
    round_trips: Count
    peer_round_trips: Count
    durable_writes: int
    emulator: bool = False
    bounds: tuple[str, ...] = ()

    def structure_us(self, network: Network) -> float:
        """What the round trips and durable writes cost there."""
        return (
            self.round_trips.number * network.rtt_us
            + self.peer_round_trips.number * network.peer_rtt_us
            + self.durable_writes * network.fdatasync_us
        )

    def fixed_us(self, sample: Sample) -> float:
        """What a run's median leaves over; below 0 where the model takes too much off."""
        return sample.p50_us[self.operation] - self.structure_us(network_of(sample))

    @property
    def fixed(self) -> Estimate:
        """The same of all runs: the median with its 95 % interval from order statistics."""
        values = [self.fixed_us(sample) for sample in self.samples]
        return Estimate(statistics.median(values), *median_bounds(values), Method.RANGE, len(values))

    @property
    def rtts_us(self) -> tuple[float, float]:
        """The shortest and the longest measured round trip."""
        found = [sample.rtt_us for sample in self.samples]
        return min(found), max(found)

    def at(self, network: Network) -> Predicted:
        """The prediction for a network."""
        near = self.nearest(self.samples, network)
        carried = [self.structure_us(network) + self.fixed_us(sample) for sample in near]
        p50 = one_more_run(carried) if min(carried) > 0.0 else _median_and_range(carried)
        tails = self.tails_us(self.nearest(self.with_tails, network))
        return Predicted(p50, _and_tail(p50, tails) if tails else None)

    def tails_us(self, samples: Iterable[Sample]) -> Sequence[float]:
        """How far each run's p99 lies above its median."""
        return [sample.p99_us[self.operation] - sample.p50_us[self.operation] for sample in samples]

    @property
    def with_tails(self) -> Sequence[Sample]:
        """Samples of those settings in which every run carries a p99: those that do alone are the fast ones."""
        settings = _by_setting(self.samples)
        return [
            sample
            for samples in settings.values()
            if all(self.operation in one.p99_us for one in samples)
            for sample in samples
        ]

    def nearest(self, samples: Sequence[Sample], network: Network) -> Sequence[Sample]:
        """Those over the nearest networks: in the ratio of the round trips, since that is how networks differ."""
        settings = sorted(_by_setting(samples).values(), key=lambda one: _distance(one, network))
        return [sample for one in settings[:NEAREST] for sample in one]


def loopback_of(machine: Environment) -> Network:
    """What there is where nothing was put between: loopback on both sides, and the machine's disk."""
    return Network(machine.loopback_rtt_us_p50, machine.loopback_rtt_us_p50, machine.fdatasync_us_p50)


def network_of(sample: Sample) -> Network:
    """What a run was measured over."""
    return Network(sample.rtt_us, sample.peer_rtt_us, sample.fdatasync_us)


def cost_models(systems: Iterable[Sampled]) -> tuple[CostModel, ...]:
    """The models of every operation that was measured over enough networks, in the order of the systems."""
    models = (cost_model(one, operation) for one in systems for operation in OPERATIONS)
    return tuple(model for model in models if model is not None)


def cost_model(of: Sampled, operation: str) -> CostModel | None:
    """None: over too few networks to count round trips, or nothing is declared that the writes could be taken from."""
    samples = tuple(sample for sample in of.samples if operation in sample.p50_us)
    path = of.path(operation)
    slope = _slope(samples, lambda one: (one.network, one.peer_network), lambda one: one.rtt_us, operation)
    if path is None or slope is None:
        return None
    trips = _count(slope, path.client_round_trips)
    # What the way to the servers took, taken off: the rest grows with the round trip between them.
    rest = _slope(
        samples,
        lambda one: (one.peer_network, one.network),
        lambda one: one.peer_rtt_us,
        operation,
        lambda one: trips.number * one.rtt_us,
    )
    peers = Count(float(path.peer_round_trips), None) if rest is None else _count(rest, path.peer_round_trips)
    return CostModel(of.system, operation, samples, trips, peers, path.durable_writes, of.emulator, of.bounds)


def _count(slope: Slope, declared: int) -> Count:
    agrees = abs(slope.round_trips - declared) <= AGREES_WITHIN
    return Count(float(declared) if agrees else max(0.0, slope.round_trips), slope)


def _slope(
    samples: Sequence[Sample],
    networks: Callable[[Sample], tuple[str, str]],
    rtt_us: Callable[[Sample], float],
    operation: str,
    known_us: Callable[[Sample], float] = lambda _: 0.0,
) -> Slope | None:
    """Over the networks that come first in `networks`, among the runs that have the second in common: the most."""
    groups: dict[str, list[tuple[float, float, str]]] = {}
    for one in samples:
        varied, kept = networks(one)
        groups.setdefault(kept, []).append((rtt_us(one), one.p50_us[operation] - known_us(one), varied))
    largest = max(groups.values(), key=len, default=[])
    return theil_sen(largest)


def _by_setting(samples: Iterable[Sample]) -> Mapping[tuple[str, str], Sequence[Sample]]:
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.setting, []).append(sample)
    return found


def _distance(samples: Sequence[Sample], network: Network) -> float:
    rtt_us = statistics.median(one.rtt_us for one in samples)
    peer_us = statistics.median(one.peer_rtt_us for one in samples)
    return math.hypot(_apart(rtt_us, network.rtt_us), _apart(peer_us, network.peer_rtt_us))


def _apart(one_us: float, other_us: float) -> float:
    return math.log((one_us + _ALIKE_BELOW_US) / (other_us + _ALIKE_BELOW_US))


def _median_and_range(values: Sequence[float]) -> Estimate:
    return Estimate(statistics.median(values), min(values), max(values), Method.RANGE, len(values))


def _and_tail(p50: Estimate, tails_us: Sequence[float]) -> Estimate:
    """The interval holds what the shortest and the longest tail would make of it."""
    return Estimate(
        p50.value + statistics.median(tails_us),
        p50.low + min(tails_us),
        p50.high + max(tails_us),
        p50.method,
        min(p50.runs, len(tails_us)),
    )
