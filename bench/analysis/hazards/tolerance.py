"""How far the servers' clocks may jump before a lock that lives on them has two holders.

A search tries jumps by halving; each is a trial. A jump breaks the lock where the history shows two clients that
believe at once. The smallest that did and the largest that did not bracket the tolerance; the steps in between lead
there, and are no frequency.

The rule that the brackets are held against: a key on a node ends one TTL after it was set, by that node's clock. The
holder's validity ends earlier, by what is set aside for drift. So a jump breaks the lock from what was left of that
validity when the other client asked, plus the drift term; what the setting of the keys took comes on top.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis.cells import Absent
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.rows import TrialRow
from bench.records.meaning import Role

AGREES_MS = 10.0  # keys are set this much after the holder began to count, on a busy machine


@dataclass(frozen=True, slots=True)
class ToleranceRow:
    """One TTL, number of nodes held and of those whose clocks jumped, and moment of the jump, over all runs."""

    system: str
    ttl_ms: int
    nodes_held: int  # by the holder; the contender reaches all
    nodes_needed: int  # a majority: who holds no more than that has a bare one
    nodes_jumped: int
    when: str  # late: just before the holder's validity ends; early: right after its grant
    smallest_breaking_ms: float | None  # None: no jump that was tried broke it
    largest_survived_ms: float | None  # below the smallest breaking one; None: every jump that was tried broke it
    largest_tried_ms: float
    drift_ms: float | None  # the allowance in the lock's own validity
    remaining_validity_ms: (
        float | None
    )  # of the holder when the clocks had jumped, in the trial of the smallest breaking jump
    left_ms: float | None  # of it when the contender asked, in the same trial
    # By how much the largest harmless and the smallest breaking jump exceed the rule, each by what was left in its own
    # trial. None: nothing broke it, or what was left is not recorded.
    over_rule_ms: tuple[float | None, float] | None
    tried: int
    evidence: tuple[str, ...]

    @property
    def broke(self) -> bool:
        return self.smallest_breaking_ms is not None

    @property
    def over_left_ms(self) -> tuple[float | None, float] | None:
        """By how much the two exceed what was left of the validity alone: what a lock adds to it, to be compared."""
        if self.over_rule_ms is None or self.drift_ms is None:
            return None
        survived, broke = self.over_rule_ms
        return None if survived is None else survived + self.drift_ms, broke + self.drift_ms


@dataclass(frozen=True, slots=True)
class ClockRule:
    """From which jump on a lock breaks, and how well its searches bear that out."""

    nodes_held: int
    nodes_jumped: int
    has_drift_term: bool
    furthest_ms: float  # between the rule and the bracket of a search, at most; 0: it lies within each
    ttls_ms: tuple[int, int]
    searches: int

    @property
    def words(self) -> str:
        """For "two holders once clocks jump by more than ..."."""
        drift = " plus the drift term (1 % of the TTL + 2 ms)" if self.has_drift_term else ""
        where = f"on {self.nodes_jumped} of the {self.nodes_held} nodes held" if self.nodes_held > 1 else "on one node"
        return f"what is left of the holder's validity{drift}, {where}"

    @property
    def fit_words(self) -> str:
        """How close the measured brackets are to it, and over what."""
        near = f"within {self.furthest_ms:.1f} ms of" if self.furthest_ms >= 0.05 else "around"
        least, most = (ttl_ms / 1000.0 for ttl_ms in self.ttls_ms)
        ttls = f"a TTL of {least:g} s" if least == most else f"TTLs of {least:g} to {most:g} s"
        return f"brackets {near} that in {self.searches} search{'es' if self.searches != 1 else ''}, at {ttls}"


def tolerance_rows(trials: Iterable[TrialRow]) -> tuple[ToleranceRow, ...]:
    """One row for each combination, by TTL, nodes and moment."""
    groups: dict[tuple[str, int, int, int, str], list[TrialRow]] = {}
    for row in trials:
        if plays(row.scenario, Role.CLOCK_SEARCH) and _jump_ms(row) is not None:
            nodes_jumped, when = int(row.parameter("nodes_jumped", 0)), str(row.parameter("when", ""))
            key = (row.system, row.ttl_ms, nodes_held(row), nodes_jumped, when)
            groups.setdefault(key, []).append(row)
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def nodes_held(row: TrialRow) -> int:
    """Of how many nodes the holder was kept in reach. A record that does not say is of one who reached all."""
    return int(row.parameter("nodes_held", 0) or row.capability_ms("nodes"))


def fewest_clocks(rows: Iterable[ToleranceRow]) -> dict[int, tuple[int | None, int]]:
    """By nodes held: the fewest jumped clocks that broke the lock (None: none did), and the most that never did."""
    by_held: dict[int, list[ToleranceRow]] = {}
    for row in rows:
        by_held.setdefault(row.nodes_held, []).append(row)
    return {held: _fewest(found) for held, found in sorted(by_held.items())}


def clock_rule(rows: Sequence[ToleranceRow]) -> ClockRule | Absent:
    """The rule by which one system breaks: at the fewest clocks of the fewest nodes held. Absent where nothing broke,
    or where a bracket of any search of that system lies off it."""
    found = [(row.over_rule_ms, row) for row in rows if row.over_rule_ms is not None]
    if not found:
        broke = any(row.broke for row in rows)
        return Absent("what was left of the validity is not recorded" if broke else "no jump gave two holders")
    off = {row: _distance_ms(*over) for over, row in found}
    furthest = max(off, key=lambda row: off[row])
    if off[furthest] > AGREES_MS:
        return Absent(f"at a TTL of {furthest.ttl_ms:,} ms the edge lies {off[furthest]:,.0f} ms off the rule")
    least = min((row for _, row in found), key=lambda row: (row.nodes_held, row.nodes_jumped))
    ttls = sorted(row.ttl_ms for _, row in found)
    return ClockRule(
        least.nodes_held,
        least.nodes_jumped,
        any((row.drift_ms or 0.0) >= 1.0 for _, row in found),
        off[furthest],
        (ttls[0], ttls[-1]),
        len(found),
    )


def _distance_ms(survived: float | None, broke: float) -> float:
    """From the rule to the bracket between the largest harmless jump and the smallest breaking one. Where no jump was
    harmless nothing bounds the edge from below, and the smallest breaking one is what there is."""
    if broke < 0.0:
        return -broke
    return max(0.0, broke if survived is None else survived)


def _fewest(rows: Sequence[ToleranceRow]) -> tuple[int | None, int]:
    broken = min((row.nodes_jumped for row in rows if row.broke), default=None)
    whole = [row.nodes_jumped for row in rows if broken is None or row.nodes_jumped < broken]
    return broken, max(whole, default=0)


def _jump_ms(row: TrialRow) -> float | None:
    """The jump as it was confirmed, else as it was asked for."""
    confirmed = row.measure("jump_ms")
    asked = row.parameter("jump_ms")
    return confirmed if confirmed is not None else None if asked is None else float(asked)


def _over_rule_ms(row: TrialRow) -> float | None:
    """The jump less the rule: what was left when the other asked, and the drift term."""
    left_ms, drift_ms = row.measure("remaining_when_asked_ms"), row.measure("drift_ms")
    return None if left_ms is None or drift_ms is None else (_jump_ms(row) or 0.0) - left_ms - drift_ms


def _row(system: str, ttl_ms: int, held: int, jumped: int, when: str, rows: list[TrialRow]) -> ToleranceRow:
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
        nodes_held=held,
        nodes_needed=int(rows[0].capability_ms("quorum")),
        nodes_jumped=jumped,
        when=when,
        smallest_breaking_ms=smallest,
        largest_survived_ms=max(survived, default=None),
        largest_tried_ms=max(jump for jump, _ in jumps),
        drift_ms=decisive.measure("drift_ms"),
        remaining_validity_ms=decisive.measure("remaining_validity_ms"),
        left_ms=decisive.measure("remaining_when_asked_ms"),
        over_rule_ms=_bracket_over_rule_ms(rows),
        tried=len(rows),
        evidence=tuple(dict.fromkeys(row.run_id for row in rows)),
    )


def _bracket_over_rule_ms(rows: Sequence[TrialRow]) -> tuple[float | None, float] | None:
    over = [(over_ms, bool(row.checked.overlap_ns)) for row in rows if (over_ms := _over_rule_ms(row)) is not None]
    broke = min((over_ms for over_ms, broken in over if broken), default=None)
    if broke is None:
        return None
    return max((over_ms for over_ms, broken in over if not broken and over_ms < broke), default=None), broke
