"""The smallest TTL for a network and a machine, and what it costs when a holder crashes.

A holder renews every third of its TTL. Its lease is lost where a renewal comes two thirds of the TTL late: by the pause
that held the holder back, and by the renewal's own way. So with D, which no more than the chosen share of renewals are
late by, TTL = 3/2 x (D + renewal). A renewal is counted as a release: a call of the same kind, to the same servers.

After a crash the next client waits for the rest of the TTL, at most all of it, and for what recovery took longer than
the TTL in the crash trials of the hazard lab; its acquire crosses the reader's network.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent
from bench.analysis.hazards.recovery import Excess, RecoveryPoint
from bench.analysis.network.cost_model import CostModel, Network, cost_model
from bench.analysis.network.lateness import Late
from bench.analysis.network.samples import Sampled

RENEWS_EVERY = 3  # so many times in a TTL
NO_LEASE = "n/a (no lease)"


@dataclass(frozen=True, slots=True)
class Advice:
    """For one system; times in ms. A TTL is a whole number of them."""

    system: str
    emulator: bool
    renewal_ms: float | Absent  # what a renewal is taken to last: the p99 where it is carried
    renewal_is_p99: bool
    ttl_ms: int | Absent
    least_ms: int  # that the system honours as asked
    recovery_ms: float | Absent  # after a crash, at most, with the median overhead
    recovery_ms_high: float | None  # with the 95th percentile, or the largest overhead
    crashes: int
    renewals_per_s: float | None

    @property
    def by_server(self) -> bool:
        """Is the TTL the least that the system honours, and not what pauses and network ask for?"""
        return self.ttl_ms == self.least_ms


def advice(
    systems: Iterable[Sampled],
    network: Network,
    here: Network,
    late: Late | None,
    recovery: Mapping[str, Sequence[RecoveryPoint]],
) -> tuple[Advice, ...]:
    """For each system, in the order of the tables. `late` None: the record of pauses does not carry the probability."""
    ordered = sorted(systems, key=lambda one: names.position(one.system))
    return tuple(_advice(one, network, here, late, recovery.get(one.system, ())) for one in ordered)


def smallest_ttl_ms(late_ms: float, renewal_ms: float) -> int:
    """So that a renewal which is due after a third of it, late and on its way, arrives before its end."""
    return math.ceil((late_ms + renewal_ms) * RENEWS_EVERY / (RENEWS_EVERY - 1.0))


def _advice(of: Sampled, network: Network, here: Network, late: Late | None, points: Sequence[RecoveryPoint]) -> Advice:
    renewal_ms, is_p99 = _renewal_ms(cost_model(of, "release"), network)
    least_ms = int(of.capabilities.get("ttl_min_ms", "1"))
    ttl_ms: int | Absent
    if of.capabilities.get("lease_scope") == "none":
        ttl_ms = Absent(NO_LEASE)
    elif isinstance(renewal_ms, Absent):
        ttl_ms = renewal_ms
    elif late is None:
        ttl_ms = Absent("not carried")
    else:
        ttl_ms = max(least_ms, smallest_ttl_ms(late.by_ns / 1e6, renewal_ms))
    recovery_ms, high_ms, crashes = _recovery(ttl_ms, cost_model(of, "acquire"), network, here, points)
    return Advice(
        of.system,
        of.emulator,
        renewal_ms,
        is_p99,
        ttl_ms,
        least_ms,
        recovery_ms,
        high_ms,
        crashes,
        None if isinstance(ttl_ms, Absent) else 1e3 * RENEWS_EVERY / ttl_ms,
    )


def _renewal_ms(model: CostModel | None, network: Network) -> tuple[float | Absent, bool]:
    """The upper end in either case: a renewal that is slower than usual is what loses a lease."""
    if model is None:
        return Absent("n/a (too few networks)"), False
    predicted = model.at(network)
    if predicted.p99 is not None:
        return predicted.p99.high / 1e3, True
    return predicted.p50.high / 1e3, False


def _recovery(
    ttl_ms: int | Absent,
    acquire: CostModel | None,
    network: Network,
    here: Network,
    points: Sequence[RecoveryPoint],
) -> tuple[float | Absent, float | None, int]:
    if isinstance(ttl_ms, Absent):
        return ttl_ms, None, 0
    recovered = [point for point in points if point.excess_ms is not None]
    if not recovered or acquire is None:
        return Absent("not measured"), None, 0
    excess = Excess.of(recovered)
    further_ms = ttl_ms + (acquire.structure_us(network) - acquire.structure_us(here)) / 1e3
    high_ms = excess.largest_ms if excess.p95_ms is None else excess.p95_ms
    return further_ms + max(0.0, excess.median_ms), further_ms + max(0.0, high_ms), excess.crashes
