"""Claims about how many servers are needed and how they are asked: C35-C37, C58, C59."""

from collections.abc import Iterator, Sequence

from bench.analysis.cells import Absent
from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing, of_times
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.nodes import HANG, NodesRow, how_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.validity import left_ms, nothing_left
from bench.analysis.judgement import Judgement, Verdict

ROUNDING_MS = 5.0  # between the clock readings of the adapter and those of the record
TIMEOUT_SLACK_MS = 10.0  # beyond the limit of a node: the other nodes, and this machine


def nodes_needed(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C35 to C37: what can be tested is how many of the servers may be down, not how many somebody needs."""
    rows = [row for row in hazards.nodes if row.system == claim.system]
    trials = hazards.of(scenario, claim.system)
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    nodes, quorum = rows[0].nodes, rows[0].quorum
    served = [row for row in rows if row.acquired.seen == row.acquired.of]
    refused = [row for row in rows if not row.acquired.seen]
    most = max((row.nodes_down for row in served), default=0)
    found = _by_down(rows)
    counts = f"of {nodes} servers stopped: {found}"
    # That a majority is enough is asked of servers that are gone. One that hangs is missed later, or by some clients
    # never: that is added, since it says nothing of how many are needed. That a majority is needed holds of both.
    gone = [row for row in rows if row.how != HANG]
    enough = all(row.acquired.seen == row.acquired.of for row in gone if row.minority)
    as_majority = enough and not any(row.acquired.seen for row in rows if not row.minority)
    counts = joined(counts, _unserved(rows))
    within = claim.low is not None and claim.high is not None and claim.low <= nodes <= claim.high
    if not as_majority or not refused or not served or not most:
        verdict, why = Verdict.FAILS, f"a majority of {quorum} did not decide: {counts}"
        if as_majority:
            verdict, why = Verdict.NOT_TESTABLE, f"too few server counts were tried: {counts}"
    elif not within:
        verdict, why = Verdict.NOT_TESTABLE, f"{nodes} servers ran here: {counts}"
    else:
        loss = "one loss" if most == 1 else f"{most} losses"
        why = f"to survive {loss}, as {quorum} of {nodes} must answer; other server counts were not tried: {counts}"
        verdict = Verdict.CONDITION
    yield judged(claim, verdict, why, trials, found=found)


def _unserved(rows: Sequence[NodesRow]) -> str:
    """Clients that a hanging minority kept from the lock; "" where there were none."""
    hanging = [row.acquired for row in rows if row.how == HANG and row.minority]
    missed = sum(count.of - count.seen for count in hanging)
    of = sum(count.of for count in hanging)
    return f"with a minority hanging, {missed} of {of} clients timed out" if missed else ""


def per_node_timeout(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C59: a time limit for each node of 5 to 50 ms: with nodes that hang, an acquire takes that long and succeeds."""
    rows = [row for row in hazards.nodes if row.system == claim.system and row.how == HANG]
    hanging = [row for row in rows if row.nodes_down in (1, 2) and row.node_timeout_ms]
    if not hanging:
        yield missing(claim, hazards, scenario)
        return
    found = ", ".join(
        f"{_took(row)} with {row.nodes_down} hanging and a limit of {row.node_timeout_ms} ms" for row in hanging
    )
    limits = [row.node_timeout_ms or 0 for row in hanging]
    late = [row for row in hanging if _beyond_its_limit(row)]
    if any(row.acquired.seen < row.acquired.of for row in hanging):
        verdict, why = Verdict.FAILS, f"not every acquire got the lock: {found}"
    elif late:
        verdict, why = Verdict.FAILS, f"an acquire took longer than the limit per node: {found}"
    elif claim.low is not None and claim.high is not None and min(limits) <= claim.low and max(limits) >= claim.high:
        verdict, why = Verdict.HOLDS, f"the lock was acquired at both ends of the range: {found}"
    else:
        verdict, why = Verdict.CONDITION, f"for the limits tried: {found}"
    if not any(row.acquired.seen < row.acquired.of for row in hanging):  # what was observed can happen
        verdict, why = of_times(verdict, why, {run for row in hanging for run in row.evidence})
    trials = [row for row in hazards.of(scenario, claim.system) if how_of(row) == HANG]
    yield judged(claim, verdict, why, trials, found=found)


def validity(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C58: validity = TTL - elapsed - drift; where nothing is left of it, there is no grant."""
    rows = [row for row in hazards.of(scenario, claim.system) if row.measure("granted") is not None]
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    late = [row for row in rows if nothing_left(row)]
    granted_late = Count.over(late, lambda row: bool(row.measure("granted")))
    granted = [row for row in rows if row.measure("granted")]
    unlike = [row for row in granted if abs((row.measure("validity_ms") or 0.0) - left_ms(row)) > ROUNDING_MS]
    counts = joined(f"no validity left: granted in {granted_late.words}", _granted_words(granted))
    if granted_late.seen or unlike:
        verdict, why = Verdict.FAILS, counts
    elif not late:
        verdict, why = Verdict.NOT_TESTABLE, f"no quorum was late enough: {counts}"
    else:
        verdict, why = Verdict.HOLDS, counts
    unseen = [granted_late] if verdict is Verdict.HOLDS else []
    yield judged(claim, verdict, why, rows, found=counts, unseen=unseen)


def _granted_words(granted: Sequence[TrialRow]) -> str:
    if not granted:
        return ""
    latest = max(granted, key=lambda row: row.measure("elapsed_ms") or 0.0)
    elapsed, left, drift = (latest.measure(name) or 0.0 for name in ("elapsed_ms", "validity_ms", "drift_ms"))
    return (
        f"the latest of {len(granted)} grants took {elapsed:,.0f} of {latest.ttl_ms:,} ms, "
        f"was valid for {left:,.0f} ms and set aside {drift:,.0f} ms"
    )


def _beyond_its_limit(row: NodesRow) -> bool:
    if isinstance(row.acquire_ms, Absent):
        return False
    return row.acquire_ms.value > (row.node_timeout_ms or 0) + TIMEOUT_SLACK_MS


def _by_down(rows: Sequence[NodesRow]) -> str:
    by_down: dict[int, Count] = {}
    for row in rows:
        by_down[row.nodes_down] = by_down.get(row.nodes_down, NOBODY_LOOKED) + row.acquired
    return ", ".join(f"{down}: acquired {count.seen} of {count.of}" for down, count in sorted(by_down.items()))


def _took(row: NodesRow) -> str:
    return "never" if isinstance(row.acquire_ms, Absent) else f"{row.acquire_ms.value:.3g} ms"
