"""What clients that meet at one key would wait over a network: the fair-queue bound, from the measured hand-off.

In a fair queue a client waits for everybody else once: (n - 1) x (hold + release + hand-off). It is a bound and no
prediction: clients that are served out of turn make others wait longer. The hand-off was measured over loopback; over a
network its round trips cost more (`System.hand_off_trips`, or those of an acquire of a free lock), and a client that
polls pauses as long as before.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.contention.fair_queue import closed_wait_ns
from bench.analysis.floor import CriticalPath, declared_path
from bench.analysis.intervals import Estimate, Method
from bench.analysis.network.cost_model import CostModel, Network
from bench.analysis.network.slopes import meet
from bench.analysis.runs import RunRow
from bench.records.schema import RunPlan
from bench.records.workload import Workload

_MEAN = "hand_off_us_mean"  # a mean wait is made of means


@dataclass(frozen=True, slots=True)
class HandOff:
    """Of one system with the wait that suits it, over loopback; runs of one workload."""

    system: str
    wait: str
    clients: int  # that met when it was measured
    hold_ms: float
    trips: CriticalPath  # of a hand-off
    runs: tuple[str, ...]
    mean_us: Estimate
    loopback: Network

    def at_us(self, network: Network) -> Estimate:
        """Over a network, in µs, at least 0."""
        more_us = (
            self.trips.client_round_trips * (network.rtt_us - self.loopback.rtt_us)
            + self.trips.peer_round_trips * (network.peer_rtt_us - self.loopback.peer_rtt_us)
            + self.trips.durable_writes * (network.fdatasync_us - self.loopback.fdatasync_us)
        )
        mean = self.mean_us
        value, low, high = (max(0.0, one + more_us) for one in (mean.value, mean.low, mean.high))
        return Estimate(value, low, high, mean.method, mean.runs)


def is_about_hand_offs(plan: RunPlan) -> bool:
    """Do all clients of a run wait for one key, as suits the system, and for nothing else?"""
    workload = plan.workload
    return (
        meet(workload)
        and not (workload.has_network or workload.has_peer_network)
        and workload.wait == names.default_wait(plan.system)
    )


def nearest_plans(plans: Iterable[RunPlan], clients: int, hold_ms: float) -> Sequence[RunPlan]:
    """Of each system those of the workload that is nearest: by the clients that meet, then by the hold."""
    groups: dict[str, dict[str, list[RunPlan]]] = {}
    for plan in plans:
        if is_about_hand_offs(plan):
            groups.setdefault(plan.system, {}).setdefault(plan.workload.digest, []).append(plan)
    found = (
        min(by_workload.values(), key=lambda runs: _distance(runs[0].workload, clients, hold_ms))
        for by_workload in groups.values()
    )
    return [plan for runs in found for plan in runs]


def hand_offs(rows: Iterable[RunRow], loopback: Network) -> dict[str, HandOff]:
    """By system, of the runs of `nearest_plans` that count."""
    groups: dict[str, list[RunRow]] = {}
    for row in rows:
        if not row.void and row.metrics.get(_MEAN) is not None:
            groups.setdefault(row.system, []).append(row)
    found = {system: _of(runs, loopback) for system, runs in groups.items()}
    return {system: one for system, one in found.items() if one is not None}


def fair_wait_us(hand_off: HandOff, release: CostModel, network: Network, clients: int, hold_ms: float) -> Estimate:
    """The mean wait of each of so many clients in a fair queue, in µs."""
    release_us, hand_off_us = release.at(network).p50, hand_off.at_us(network)
    low, value, high = (
        closed_wait_ns(clients, hold_ms * 1e3 + one + other)
        for one, other in (
            (release_us.low, hand_off_us.low),
            (release_us.value, hand_off_us.value),
            (release_us.high, hand_off_us.high),
        )
    )
    return Estimate(value, low, high, Method.RANGE, min(release_us.runs, hand_off_us.runs))


def _of(runs: Sequence[RunRow], loopback: Network) -> HandOff | None:
    first = runs[0]
    strategy = names.strategy(first.workload.wait)
    handed = names.hand_off_trips(first.system, strategy)
    if handed is not None:
        trips = CriticalPath(handed.client, handed.peers, 0)
    else:
        try:
            trips = declared_path(first.capabilities, dict(first.setting.durability) if first.setting else {})
        except KeyError:  # an older record
            return None
    values = [value for run in runs if (value := run.metrics.get(_MEAN)) is not None]
    return HandOff(
        first.system,
        first.workload.wait,
        first.workload.clients,
        first.workload.hold_ms,
        trips,
        tuple(run.run_id for run in runs),
        Estimate(statistics.median(values), min(values), max(values), Method.RANGE, len(values)),
        loopback,
    )


def _distance(workload: Workload, clients: int, hold_ms: float) -> tuple[float, float]:
    return abs(math.log(workload.clients / clients)), abs(workload.hold_ms - hold_ms)
