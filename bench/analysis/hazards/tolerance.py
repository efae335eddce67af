"""How far the servers' clocks may jump before Redlock has two holders.

A search tries jumps by halving; each is a trial. A jump breaks the lock where the history shows two clients that
believe at once. The smallest that did and the largest that did not bracket the tolerance.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.analysis.hazards.rows import TrialRow

SCENARIO = "redlock-clock"


@dataclass(frozen=True, slots=True)
class ToleranceRow:
    """One TTL, number of nodes whose clocks jumped, and moment of the jump, over all runs."""

    system: str
    ttl_ms: int
    nodes_jumped: int
    when: str  # late: just before the holder's validity ends; early: right after its grant
    smallest_breaking_ms: float | None  # None: no jump that was tried broke it
    largest_survived_ms: float | None  # below the smallest breaking one; None: every jump that was tried broke it
    largest_tried_ms: float
    drift_ms: float | None  # the allowance in Redlock's own validity
    remaining_validity_ms: (
        float | None
    )  # of the holder when the clocks had jumped, in the trial of the smallest breaking jump
    tried: int
    evidence: tuple[str, ...]

    @property
    def broke(self) -> bool:
        return self.smallest_breaking_ms is not None


def tolerance_rows(trials: Iterable[TrialRow]) -> tuple[ToleranceRow, ...]:
    """One row for each combination, by TTL, nodes and moment."""
    groups: dict[tuple[str, int, int, str], list[TrialRow]] = {}
    for row in trials:
        if row.scenario == SCENARIO and _jump_ms(row) is not None:
            key = (row.system, row.ttl_ms, int(row.parameter("nodes_jumped", 0)), str(row.parameter("when", "")))
            groups.setdefault(key, []).append(row)
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def _jump_ms(row: TrialRow) -> float | None:
    """The jump as it was confirmed, else as it was asked for."""
    told = row.measure("jump_ms")
    asked = row.parameter("jump_ms")
    return told if told is not None else None if asked is None else float(asked)


def _row(system: str, ttl_ms: int, nodes: int, when: str, rows: list[TrialRow]) -> ToleranceRow:
    jumps = [(_jump_ms(row) or 0.0, row) for row in rows]
    breaking = sorted((jump, row.trial.name) for jump, row in jumps if row.checked.overlap_ns)
    smallest = breaking[0][0] if breaking else None
    survived = [jump for jump, row in jumps if not row.checked.overlap_ns and (smallest is None or jump < smallest)]
    decisive = min(
        (row for jump, row in jumps if row.checked.overlap_ns and jump == smallest),
        key=lambda row: (row.plan.position, row.trial.name),
        default=rows[0],
    )
    return ToleranceRow(
        system=system,
        ttl_ms=ttl_ms,
        nodes_jumped=nodes,
        when=when,
        smallest_breaking_ms=smallest,
        largest_survived_ms=max(survived, default=None),
        largest_tried_ms=max(jump for jump, _ in jumps),
        drift_ms=decisive.measure("drift_ms"),
        remaining_validity_ms=decisive.measure("remaining_validity_ms"),
        tried=len(rows),
        evidence=tuple(dict.fromkeys(row.run_id for row in rows)),
    )
