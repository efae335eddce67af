"""Claims about clocks: C25-C30."""

from collections.abc import Iterator, Sequence

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.tolerance import SCENARIO as REDLOCK_CLOCK
from bench.analysis.hazards.tolerance import ToleranceRow
from bench.analysis.judgement import Judgement, Verdict

SERVERS = "server-clock"
CLIENT = "client-clock"
CRASH = "clock-back-and-crash"
ABOUT = 2.0  # "about n ms" is met from half of n to twice n
ON_CLIENT_CLOCK = "dynamodb-client-clock"


def redlock_tolerance(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C25: about 10 ms of drift break Redlock. The smallest jumps that did, TTL by TTL, against that figure."""
    rows = [row for row in hazards.tolerance if row.system == claim.system]
    trials = hazards.of(REDLOCK_CLOCK, claim.system)
    low, high = claim.low or 0.0, claim.high or 0.0
    smallest = _smallest_by_ttl(rows)
    if not rows:
        yield missing(claim, hazards, REDLOCK_CLOCK)
        return
    survived = _fewest_nodes(rows)
    if not smallest:
        why = f"no jump of up to {max(row.largest_tried_ms for row in rows):,.0f} ms gave two holders; {survived}"
        yield judged(claim, Verdict.FAILS, why, trials, found="none broke it")
        return
    found = ", ".join(
        f"{row.smallest_breaking_ms:,.0f} ms at a TTL of {ttl_ms:,} ms" for ttl_ms, row in smallest.items()
    )
    about = [low / ABOUT <= (row.smallest_breaking_ms or 0.0) <= high * ABOUT for row in smallest.values()]
    drift = ", ".join(f"{row.drift_ms:,.0f} ms" for row in smallest.values() if row.drift_ms is not None)
    left = ", ".join(
        f"{row.remaining_validity_ms:,.0f} ms" for row in smallest.values() if row.remaining_validity_ms is not None
    )
    told = joined(
        f"smallest jump with two holders: {found}",
        f"set aside for drift: {drift}" if drift else "",
        f"left of the holder's validity when the clocks had jumped: {left}" if left else "",
        survived,
    )
    if all(about) and len(about) > 1:
        verdict = Verdict.HOLDS
    elif all(about):
        verdict, told = Verdict.CONDITION, f"at the one TTL that was tried: {told}"
    elif any(about):
        verdict, told = Verdict.CONDITION, f"at some TTLs, since what is set aside grows with the TTL: {told}"
    else:
        verdict = Verdict.FAILS
    yield judged(claim, verdict, told, trials, found=found)


def less_than_redlock(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C26: one Redis is less sensitive to a jump of the clock than Redlock."""
    ahead = [row for row in hazards.of(SERVERS, claim.system) if any((one.amount or 0.0) > 0.0 for one in row.faults)]
    held = Exposed.of(ahead)
    redlock = hazards.tolerance
    if not held.shown.of:
        yield missing(claim, hazards, SERVERS)
        return
    told = f"its one server's clock jumped ahead {_jump(held.rows)}: two holders in {held.shown.words}"
    if not redlock:
        why = f"{told}; Redlock under a jump was not measured beside it"
        yield judged(claim, Verdict.NOT_TESTABLE, why, held.rows, found=f"two holders {held.shown.words}")
        return
    trials = hazards.of(REDLOCK_CLOCK)
    broken, survived = _nodes_that_break(redlock)
    beside = f"Redlock: {_fewest_nodes(redlock)}"
    if not held.shown.seen and broken is not None:
        verdict = Verdict.HOLDS
    elif held.shown.seen and (survived or broken is None):
        # One clock is all that one Redis has; Redlock withstands the same jump of some of its clocks.
        unsearched = "the smallest jump was not searched for on one Redis"
        verdict, beside = Verdict.FAILS, joined("one clock is enough", beside, unsearched)
    else:
        verdict = Verdict.NOT_TESTABLE
        beside = joined(beside, "the smallest jump was not searched for on one Redis")
    found = f"two holders {held.shown.words}"
    yield judged(claim, verdict, joined(told, beside), [*held.rows, *trials], found=found)


def not_sensitive(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C27, C28, C29: no jump of a wall clock gives two holders, of the servers, and of the client where asked for; and
    none keeps the lock of a holder that crashed.
    """
    servers = Exposed.of(hazards.of(SERVERS, claim.system))
    client = Exposed.of(hazards.of(CLIENT, claim.system))
    if not servers.shown.of:
        yield missing(claim, hazards, SERVERS)
        return
    asked = "client" in claim.how_to_test
    whose = "servers' clocks" if servers.rows[0].capability_ms("nodes") > 1 else "the server's clock"
    told = f"{whose} jumped {_jump(servers.rows)}: two holders in {servers.shown.words}"
    if not servers.rows[0].has_lease:
        told = f"no TTL: the lock ends with its connection, which no clock ends; {told}"
    about = subject_of(CRASH)
    crashes = [row for row in hazards.of(CRASH, claim.system) if about.exposed(row)]
    blocked = Count.over(crashes, about.unavailable)
    told = joined(
        told,
        f"the client's clock jumped: {client.shown.words}" if client.shown.of else "",
        f"{whose} went back as the holder crashed: {about.hazard.words} in {blocked.words}" if crashes else "",
    )
    rows = (*servers.rows, *client.rows, *crashes)
    if servers.shown.seen or client.shown.seen or blocked.seen:
        verdict = Verdict.FAILS
    elif asked and not client.shown.of:
        verdict, told = Verdict.CONDITION, f"for the servers' clocks; the client's was not stepped: {told}"
    elif not crashes:
        verdict, told = Verdict.CONDITION, f"while holders live; a crash as the clocks go back was not measured: {told}"
    else:
        verdict = Verdict.HOLDS
    found = f"two holders {(servers.shown + client.shown).words}"
    found = joined(found, f"blocked {blocked.words}" if crashes else "")
    yield judged(claim, verdict, told, rows, found=found)


def by_whose_clock(claim: Claim, hazards: HazardEvidence) -> Iterator[Judgement]:
    """C30: it depends on how expiry is judged; both ways are measured."""
    record = Exposed.of(hazards.of(CLIENT, claim.system))
    clock = Exposed.of(hazards.of(CLIENT, ON_CLIENT_CLOCK))
    if not record.shown.of and not clock.shown.of:
        yield missing(claim, hazards, CLIENT)
        return
    told = joined(
        f"expiry judged by a record that does not change: two holders in {record.shown.words}"
        if record.shown.of
        else "",
        f"by the client's clock: {clock.shown.words}" if clock.shown.of else "",
    )
    rows = (*record.rows, *clock.rows)
    if record.shown.seen:
        verdict = Verdict.FAILS
    elif clock.shown.seen and record.shown.of:
        verdict, told = Verdict.CONDITION, f"where no client's clock judges the expiry: {told}"
    elif clock.shown.seen:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.HOLDS
    found = f"two holders {record.shown.words}" if record.shown.of else ""
    found = joined(found, f"{clock.shown.words} by the client's clock" if clock.shown.of else "")
    yield judged(claim, verdict, told, rows, found=found)


def _smallest_by_ttl(rows: Sequence[ToleranceRow]) -> dict[int, ToleranceRow]:
    """For each TTL the row with the smallest breaking jump, over all nodes and moments."""
    found: dict[int, ToleranceRow] = {}
    for row in sorted((row for row in rows if row.broke), key=lambda row: (row.ttl_ms, row.smallest_breaking_ms)):
        found.setdefault(row.ttl_ms, row)
    return found


def _nodes_that_break(rows: Sequence[ToleranceRow]) -> tuple[int | None, int]:
    """The fewest jumped clocks that gave two holders (None: none did), and the most below that which never did."""
    broken = min((row.nodes_jumped for row in rows if row.broke), default=None)
    whole = [row.nodes_jumped for row in rows if broken is None or row.nodes_jumped < broken]
    return broken, max(whole, default=0)


def _fewest_nodes(rows: Sequence[ToleranceRow]) -> str:
    """How many clocks had to jump."""
    broken, survived = _nodes_that_break(rows)
    return joined(
        f"it took the clocks of {broken} nodes" if broken is not None else "",
        f"with those of {survived} no jump of up to {_largest_ms(rows, survived):,.0f} ms broke it" if survived else "",
    ).replace("; ", ", ")


def _largest_ms(rows: Sequence[ToleranceRow], nodes: int) -> float:
    return max(row.largest_tried_ms for row in rows if row.nodes_jumped == nodes)


def _jump(rows: Sequence[TrialRow]) -> str:
    """How far the clocks jumped, as confirmed."""
    amounts = [
        abs(fault.amount) for row in rows for fault in row.faults if fault.amount is not None and fault.unit == "ms"
    ]
    if not amounts:
        return "beyond the TTL"
    least, most = min(amounts), max(amounts)
    return f"by {least:,.0f} ms" if least == most else f"by {least:,.0f} to {most:,.0f} ms"
