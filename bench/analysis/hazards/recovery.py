"""Crash recovery: how long after the holder was killed another client had the lock, against the TTL.

Also where the server that decides was lost right after the holder: a new leader does not know how much of a lease was
left, and may start it anew.
"""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow, hazard_runs
from bench.analysis.intervals import across_runs
from bench.analysis.quantiles import carries
from bench.records.meaning import Role
from bench.records.numbers import minus
from bench.records.store import HazardFolder

ROLES = (Role.RECOVERY, Role.RECOVERY_AND_LEADER)
P95 = 0.95
NEVER_MS = -1.0  # how a scenario says that no grant came


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """One trial. `recovery_ms` None: nobody got the lock while the trial lasted."""

    system: str
    run_id: str
    trial: str
    ttl_ms: int
    recovery_ms: float | None
    allowed_ms: float  # the TTL, and what a lease may outlive it by design
    failover: str = ""  # when the leader was lost: "at once", "half a TTL later"; "": it was not

    @property
    def by_ttl(self) -> float | None:
        return None if self.recovery_ms is None else self.recovery_ms / self.ttl_ms

    @property
    def excess_ms(self) -> float | None:
        """How much later than its TTL the lock was had; below 0: sooner."""
        return None if self.recovery_ms is None else self.recovery_ms - self.ttl_ms


@dataclass(frozen=True, slots=True)
class Excess:
    """By how much the lock was had later than its TTL after crashes of one system, over all TTLs."""

    run_medians_ms: tuple[float, ...]  # one value a run
    median_ms: float
    p95_ms: float | None  # None: too few crashes carry it
    largest_ms: float
    crashes: int

    @classmethod
    def of(cls, points: Iterable[RecoveryPoint]) -> "Excess":
        """From crashes after which somebody got the lock; raises StatisticsError where there is none."""
        by_run: dict[str, list[float]] = {}
        for point in points:
            if point.excess_ms is not None:
                by_run.setdefault(point.run_id, []).append(point.excess_ms)
        every = sorted(value for values in by_run.values() for value in values)
        p95_ms = every[math.ceil(P95 * len(every)) - 1] if every and carries(len(every), P95) else None
        medians_ms = tuple(statistics.median(values) for values in by_run.values())
        return cls(medians_ms, statistics.median(every), p95_ms, max(every), len(every))

    @property
    def words(self) -> str:
        """Median and p95, or the largest where p95 is not carried."""
        name, high_ms = ("p95", self.p95_ms) if self.p95_ms is not None else ("at most", self.largest_ms)
        middle, high = (minus(f"{value:+,.0f}") for value in (self.median_ms, high_ms))
        return f"TTL {middle} ms at the median, {name} {high} ms ({self.crashes} crashes)"


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One system and TTL, without a failover or with one at that time, across runs."""

    system: str
    ttl_ms: int
    failover: str
    recovery_ms: Value
    by_ttl: float | None  # median of recovery by TTL; None where it never recovered
    longest_ms: float | None
    trials: int
    never: int  # trials in which nobody got the lock
    evidence: tuple[str, ...]


def recovery_points(trials: Iterable[TrialRow]) -> tuple[RecoveryPoint, ...]:
    """One point a trial, in the order of the trials."""
    return tuple(_point(row) for row in trials if plays(row.scenario, *ROLES))


def crashes(folder: HazardFolder) -> Mapping[str, Sequence[RecoveryPoint]]:
    """By system, after crashes of holders alone: read without the other scenarios. Raises StoreError."""
    runs = hazard_runs(folder, lambda plan: plays(plan.scenario, Role.RECOVERY))
    found: dict[str, list[RecoveryPoint]] = {}
    for point in recovery_points(row for run in runs if not run.void for row in run.trials):
        if not point.failover:
            found.setdefault(point.system, []).append(point)
    return found


def recovery_rows(points: Iterable[RecoveryPoint]) -> tuple[RecoveryRow, ...]:
    """One row for each system, TTL and failover, in table order: those without one first."""
    groups: dict[tuple[str, int, str], list[RecoveryPoint]] = {}
    for point in points:
        groups.setdefault((point.system, point.ttl_ms, point.failover), []).append(point)
    return tuple(_row(*key, groups[key]) for key in sorted(groups, key=lambda key: (names.position(key[0]), key)))


def _point(row: TrialRow) -> RecoveryPoint:
    measured_ms = row.measure("recovery_ms")
    return RecoveryPoint(
        system=row.system,
        run_id=row.run_id,
        trial=row.trial.name,
        ttl_ms=row.ttl_ms,
        recovery_ms=None if measured_ms is None or measured_ms < 0.0 else measured_ms,
        allowed_ms=row.ttl_ms + row.capability_ms("ttl_granularity_ms"),
        failover=str(row.parameter("failover", "")) if plays(row.scenario, Role.RECOVERY_AND_LEADER) else "",
    )


def _row(system: str, ttl_ms: int, failover: str, points: list[RecoveryPoint]) -> RecoveryRow:
    by_run: dict[str, list[float]] = {}
    for point in points:
        if point.recovery_ms is not None:
            by_run.setdefault(point.run_id, []).append(point.recovery_ms)
    found = [value for values in by_run.values() for value in values]
    never = len(points) - len(found)
    value: Value = Absent(f"never within the trial ({never} of {len(points)})")
    if not never:
        value = across_runs([statistics.median(values) for values in by_run.values()])
    return RecoveryRow(
        system=system,
        ttl_ms=ttl_ms,
        failover=failover,
        recovery_ms=value,
        by_ttl=statistics.median(found) / ttl_ms if found else None,
        longest_ms=max(found, default=None),
        trials=len(points),
        never=never,
        evidence=tuple(dict.fromkeys(point.run_id for point in points)),
    )
