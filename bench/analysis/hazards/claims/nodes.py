"""Claims about how many servers are needed and how they are asked: C35-C37, C58, C59."""

import statistics
from collections.abc import Iterator, Sequence

from bench.analysis.cells import Absent
from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.nodes import SCENARIO, NodesRow
from bench.analysis.judgement import Judgement, Verdict

LATE_QUORUM = "late-quorum"
HANG = "hang"


def nodes_needed(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C35 to C37: what can be tested is how many of the servers may be down, not how many somebody needs."""
    rows = [row for row in hazards.nodes if row.system == claim.system]
    trials = hazards.of(SCENARIO, claim.system)
    if not rows:
        yield missing(claim, hazards, SCENARIO)
        return
    nodes, quorum = rows[0].nodes, rows[0].quorum
    served = [row for row in rows if row.acquired.seen == row.acquired.of]
    refused = [row for row in rows if not row.acquired.seen]
    most = max((row.nodes_down for row in served), default=0)
    found = _by_down(rows)
    told = f"of {nodes} servers stopped: {found}"
    as_majority = all((row.acquired.seen == row.acquired.of) if row.minority else not row.acquired.seen for row in rows)
    within = claim.low is not None and claim.high is not None and claim.low <= nodes <= claim.high
    if not as_majority or not refused or not served or not most:
        verdict, why = Verdict.FAILS, f"it did not go by the majority of {quorum}: {told}"
        if as_majority:
            verdict, why = Verdict.NOT_TESTABLE, f"too few numbers of stopped servers were tried: {told}"
    elif not within:
        verdict, why = Verdict.NOT_TESTABLE, f"{nodes} servers stood here: {told}"
    else:
        loss = "one loss" if most == 1 else f"{most} losses"
        why = (
            f"to survive {loss}, since {quorum} of {nodes} must answer; other numbers of servers were not tried: {told}"
        )
        verdict = Verdict.CONDITION
    yield judged(claim, verdict, why, trials, found=found)


def per_node_timeout(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C59: a timeout per node of 5 to 50 ms: how long an acquire takes while nodes hang."""
    rows = [row for row in hazards.nodes if row.system == claim.system and row.how == HANG]
    hanging = [row for row in rows if row.nodes_down in (1, 2) and not isinstance(row.acquire_ms, Absent)]
    if not hanging:
        yield missing(claim, hazards, SCENARIO)
        return
    none = next((row for row in rows if row.nodes_down == 0 and not isinstance(row.acquire_ms, Absent)), None)
    found = ", ".join(f"{_took(row)} ms with {row.nodes_down}" for row in ([none] if none else []) + hanging)
    told = f"nodes hanging: an acquire took {found}"
    times = [row.acquire_ms.value for row in hanging if not isinstance(row.acquire_ms, Absent)]
    low, high = claim.low or 0.0, claim.high or float("inf")
    got = all(row.acquired.seen == row.acquired.of for row in hanging)
    if not got:
        verdict, why = Verdict.FAILS, f"not every acquire got the lock: {told}"
    elif all(low <= value <= high for value in times):
        verdict, why = Verdict.HOLDS, told
    elif max(times) > high:
        verdict, why = Verdict.FAILS, f"more than claimed: {told}"
    else:
        verdict, why = Verdict.CONDITION, f"as an upper bound: a majority answers before the timeout ends: {told}"
    rows_used = [
        row for row in hazards.of(SCENARIO, claim.system) if row.run_id in {r for h in rows for r in h.evidence}
    ]
    yield judged(claim, verdict, why, rows_used, found=found)


def validity(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C58: a grant is refused when the time it took and the allowance for drift reach the TTL."""
    rows = [row for row in hazards.of(LATE_QUORUM, claim.system) if row.measure("granted") is not None]
    if not rows:
        yield missing(claim, hazards, LATE_QUORUM)
        return
    late = [row for row in rows if (row.measure("validity_ms") or 0.0) <= 0.0]
    in_time = [row for row in rows if (row.measure("validity_ms") or 0.0) > 0.0]
    refused = Count.over(not row.measure("granted") for row in late)
    granted = Count.over(bool(row.measure("granted")) for row in in_time)
    told = joined(
        f"nothing of the TTL left: refused in {refused.seen} of {refused.of}",
        f"something left: granted in {granted.seen} of {granted.of}" if in_time else "",
    )
    elapsed = [value for row in late if (value := row.measure("elapsed_ms")) is not None]
    if elapsed:
        told = f"{told} (the quorum took {statistics.median(elapsed):,.0f} ms of a TTL of {late[0].ttl_ms:,} ms)"
    if refused.seen < refused.of or granted.seen < granted.of:
        verdict, why = Verdict.FAILS, told
    elif not late:
        verdict, why = Verdict.NOT_TESTABLE, f"no quorum was late enough: {told}"
    else:
        verdict, why = Verdict.HOLDS, told
    yield judged(claim, verdict, why, rows, found=told)


def _by_down(rows: Sequence[NodesRow]) -> str:
    by_down: dict[int, Count] = {}
    for row in rows:
        by_down[row.nodes_down] = by_down.get(row.nodes_down, Count(0, 0)) + row.acquired
    return ", ".join(f"{down}: acquired {count.seen} of {count.of}" for down, count in sorted(by_down.items()))


def _took(row: NodesRow) -> str:
    return "-" if isinstance(row.acquire_ms, Absent) else f"{row.acquire_ms.value:.3g}"
