"""Crash recovery: how long after the holder was killed another client had the lock, against the TTL."""

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.intervals import across_runs

SCENARIO = "crash-recovery"
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

    @property
    def by_ttl(self) -> float | None:
        return None if self.recovery_ms is None else self.recovery_ms / self.ttl_ms


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One system and TTL across runs."""

    system: str
    ttl_ms: int
    recovery_ms: Value
    by_ttl: float | None  # median of recovery by TTL; None where it never recovered
    longest_ms: float | None
    trials: int
    never: int  # trials in which nobody got the lock
    evidence: tuple[str, ...]


def recovery_points(trials: Iterable[TrialRow]) -> tuple[RecoveryPoint, ...]:
    """One point a trial, in the order of the trials."""
    return tuple(_point(row) for row in trials if row.scenario == SCENARIO)


def recovery_rows(points: Iterable[RecoveryPoint]) -> tuple[RecoveryRow, ...]:
    """One row for each system and TTL, in table order."""
    groups: dict[tuple[str, int], list[RecoveryPoint]] = {}
    for point in points:
        groups.setdefault((point.system, point.ttl_ms), []).append(point)
    return tuple(_row(*key, groups[key]) for key in sorted(groups, key=lambda key: (names.position(key[0]), key)))


def _point(row: TrialRow) -> RecoveryPoint:
    told = row.measure("recovery_ms")
    return RecoveryPoint(
        system=row.system,
        run_id=row.run_id,
        trial=row.trial.name,
        ttl_ms=row.ttl_ms,
        recovery_ms=None if told is None or told < 0.0 else told,
        allowed_ms=row.ttl_ms + row.capability_ms("ttl_granularity_ms"),
    )


def _row(system: str, ttl_ms: int, points: list[RecoveryPoint]) -> RecoveryRow:
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
        recovery_ms=value,
        by_ttl=statistics.median(found) / ttl_ms if found else None,
        longest_ms=max(found, default=None),
        trials=len(points),
        never=never,
        evidence=tuple(dict.fromkeys(point.run_id for point in points)),
    )
