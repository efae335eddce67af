"""The hazard window: how long two clients believed in one lock, against how long the holder was stopped beyond its TTL.

The line to compare with is pause - TTL, with the pause as it was measured. Where a system falls short of the line by
more than a tenth of its TTL, its records say why: a lease that is allowed to outlive its TTL, heartbeats that moved the
lease's beginning, a waiter that polls.
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.hazards.exposure import BEYOND_TTLS
from bench.analysis.hazards.late_writes import ahead_of_the_fence, late_accepted
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.variants import shown_at_write
from bench.analysis.intervals import across_runs
from bench.records.meaning import Role

TOLERATED_TTLS = 0.1  # a larger median difference needs a reason


class PauseOutcome(StrEnum):
    """What came of a pause, from harmless to harmful."""

    ONE_HOLDER = "one holder at a time"
    REFUSED = "two holders, late write refused"
    UNSEEN = "two holders, no late write"
    READ = "two holders, late write read by the new one"  # accepted before its first read: no update is lost
    AHEAD = "two holders, late write before the new holder's first"
    ACCEPTED = "two holders, late write accepted"


@dataclass(frozen=True, slots=True)
class WindowPoint:
    """One trial."""

    system: str
    run_id: str
    trial: str  # its name within the run
    scenario: str
    ttl_ms: int
    pause_ttls: float  # as it was asked for
    pause_ms: float  # as it was
    wait_ms: float | None  # of the contender, from its ask to its grant
    overlap_ms: float
    fence: bool
    shown_at_write: bool  # the fence first saw the new token with a write: another protocol than the map is about
    outcome: PauseOutcome

    @property
    def expected_ms(self) -> float:
        """The claimed window: pause - TTL, and nothing for a shorter pause."""
        return max(0.0, self.pause_ms - self.ttl_ms)

    @property
    def difference_ms(self) -> float:
        """Measured less claimed."""
        return self.overlap_ms - self.expected_ms


@dataclass(frozen=True, slots=True)
class WindowAt:
    """The overlap at one length of pause, in ms: one value a run (the median of its trials), then across runs."""

    pause_ttls: float
    overlap_ms: Value


@dataclass(frozen=True, slots=True)
class WindowFit:
    """How one system keeps to the line, over the pauses longer than its TTL."""

    system: str
    points: int  # trials with a pause longer than the TTL
    runs: tuple[str, ...]
    slope: float | None  # of overlap by pause - TTL where there was one, least squares; None: fewer than two lengths
    median_difference_ms: float | None  # of the absolute differences; None: no such trial
    median_difference_ttls: float | None
    signed_difference_ms: float | None  # median, measured less claimed: below the line is negative
    reason: str  # why it is off the line; "" where it is not
    at: tuple[WindowAt, ...]

    @property
    def on_the_line(self) -> bool:
        return self.median_difference_ttls is not None and self.median_difference_ttls <= TOLERATED_TTLS


@dataclass(frozen=True, slots=True)
class PauseCell:
    """All trials of one system, pause and fence: a square of the map."""

    system: str
    pause_ttls: float
    fence: bool
    outcomes: Mapping[PauseOutcome, int]
    evidence: tuple[str, ...]

    @property
    def worst(self) -> PauseOutcome:
        """The most harmful outcome of any trial: a map must not hide one."""
        return max(self.outcomes, key=list(PauseOutcome).index)


def window_points(trials: Iterable[TrialRow]) -> tuple[WindowPoint, ...]:
    """One point a trial whose pause was measured, in the order of the trials."""
    return tuple(
        _point(row) for row in trials if plays(row.scenario, Role.PAUSE_MAP) and row.measure("pause_ms") is not None
    )


def window_fits(trials: Sequence[TrialRow]) -> tuple[WindowFit, ...]:
    """One fit a system, in table order."""
    by_system: dict[str, list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, Role.PAUSE_GRID) and row.measure("pause_ms") is not None:
            by_system.setdefault(row.system, []).append(row)
    return tuple(_fit(system, by_system[system]) for system in sorted(by_system, key=names.position))


def pause_map(points: Iterable[WindowPoint]) -> tuple[PauseCell, ...]:
    """One cell for each system, pause (in TTLs) and fence that sees a token before its holder's first read, in table
    order.
    """
    cells: dict[tuple[str, float, bool], list[WindowPoint]] = {}
    for point in points:
        if not point.shown_at_write:
            cells.setdefault((point.system, point.pause_ttls, point.fence), []).append(point)
    ordered = sorted(cells, key=lambda key: (names.position(key[0]), key))
    return tuple(
        PauseCell(
            *key,
            outcomes=Counter(point.outcome for point in cells[key]),
            evidence=tuple(dict.fromkeys(point.run_id for point in cells[key])),
        )
        for key in ordered
    )


def outcome_of(row: TrialRow) -> PauseOutcome:
    """What came of one pause."""
    if accepted := late_accepted(row):
        return PauseOutcome.AHEAD if ahead_of_the_fence(row) == accepted else PauseOutcome.ACCEPTED
    if row.checked.late_read:
        return PauseOutcome.READ
    if not row.checked.overlap_ns and not row.checked.stale_writes:
        return PauseOutcome.ONE_HOLDER
    return PauseOutcome.REFUSED if row.checked.stale_refused else PauseOutcome.UNSEEN


def asked_ttls(row: TrialRow) -> float | None:
    """The pause that was asked for, in TTLs: scenarios give it so, or in ms."""
    if (ttls := row.parameter("pause_ttls")) is not None:
        return float(ttls)
    asked_ms = row.parameter("pause_ms")
    return None if asked_ms is None else float(asked_ms) / row.ttl_ms


def _point(row: TrialRow) -> WindowPoint:
    pause_ms = row.measure("pause_ms") or 0.0
    wait_ms = row.measure("wait_ms")
    return WindowPoint(
        system=row.system,
        run_id=row.run_id,
        trial=row.trial.name,
        scenario=row.scenario,
        ttl_ms=row.ttl_ms,
        pause_ttls=asked_ttls(row) or round(pause_ms / row.ttl_ms, 2),
        pause_ms=pause_ms,
        wait_ms=None if wait_ms is None or wait_ms < 0.0 else wait_ms,
        overlap_ms=row.overlap_ms,
        fence=bool(row.fence),
        shown_at_write=shown_at_write(row),
        outcome=outcome_of(row),
    )


def _fit(system: str, rows: Sequence[TrialRow]) -> WindowFit:
    points = [_point(row) for row in rows]
    beyond = [point for point in points if point.pause_ms > BEYOND_TTLS * point.ttl_ms]
    runs = tuple(dict.fromkeys(point.run_id for point in beyond))
    at = tuple(_at(pause, points) for pause in sorted({point.pause_ttls for point in points}))
    if not beyond:
        return WindowFit(system, 0, runs, None, None, None, None, "no pause was longer than the TTL", at)
    difference_ttls = statistics.median(abs(point.difference_ms) / point.ttl_ms for point in beyond)
    signed_ms = statistics.median(point.difference_ms for point in beyond)
    return WindowFit(
        system=system,
        points=len(beyond),
        runs=runs,
        slope=_slope(beyond),
        median_difference_ms=statistics.median(abs(point.difference_ms) for point in beyond),
        median_difference_ttls=difference_ttls,
        signed_difference_ms=signed_ms,
        reason=_reason(rows[0], signed_ms, beyond) if difference_ttls > TOLERATED_TTLS else "",
        at=at,
    )


def _at(pause_ttls: float, points: Sequence[WindowPoint]) -> WindowAt:
    by_run: dict[str, list[float]] = {}
    for point in points:
        if point.pause_ttls == pause_ttls:
            by_run.setdefault(point.run_id, []).append(point.overlap_ms)
    values = [statistics.median(found) for found in by_run.values()]
    # An interval on a logarithmic scale has no place for a run without any overlap.
    if min(values) <= 0.0:
        none = sum(value <= 0.0 for value in values)
        return WindowAt(pause_ttls, Absent(f"no overlap in {none} of {len(values)} runs"))
    return WindowAt(pause_ttls, across_runs(values))


def _slope(points: Sequence[WindowPoint]) -> float | None:
    # A pause that a lease outlived has no window, whose length could follow anything.
    open_ones = [point for point in points if point.overlap_ms > 0.0]
    expected = [point.expected_ms / point.ttl_ms for point in open_ones]
    # Pauses that were meant to be equal differ by microseconds: a line through those says nothing.
    if not expected or max(expected) - min(expected) < TOLERATED_TTLS:
        return None
    return statistics.linear_regression(expected, [point.overlap_ms / point.ttl_ms for point in open_ones]).slope


def _reason(row: TrialRow, signed_ms: float, points: Sequence[WindowPoint]) -> str:
    """Why the window is not where the line says, from what the adapter tells of its leases."""
    if not row.has_lease:
        return "the lock has no TTL: it ends with the holder's connection, and the others wait"
    if signed_ms > 0.0:
        return f"the window is {signed_ms:.0f} ms longer than pause - TTL: the holder learnt of its loss late"
    granularity_ms = row.capability_ms("ttl_granularity_ms")
    reasons = []
    if granularity_ms > TOLERATED_TTLS * row.ttl_ms:
        reasons.append(f"a lease may outlive its TTL by up to {granularity_ms:.0f} ms here")
    if row.capability("lease_scope") == "session":
        reasons.append("the lease belongs to the session, whose last heartbeat came after the grant")
    if (least_ms := row.capability_ms("ttl_min_ms")) > row.ttl_ms:
        reasons.append(f"the smallest lease is {least_ms:.0f} ms")
    if row.capability("expiry_judge") == "client":
        reasons.append("a waiter counts the TTL from when it first saw the record, not from the grant")
    if not reasons and "poll" in row.capability("wait_strategies"):
        reasons.append("the waiter polls, and asks only some time after the lease ends")
    late_ms = -signed_ms
    explained = "; ".join(reasons) or "the records do not say why"
    granted = [point.wait_ms for point in points if point.wait_ms is not None]
    waited = f" (median wait {statistics.median(granted):.0f} ms)" if granted else ""
    return f"the lock was granted {late_ms:.0f} ms later than its TTL{waited}: {explained}"
