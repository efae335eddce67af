"""Claims about clocks: C25-C30. Only trials that by their staging could have shown the harm are counted."""

from collections.abc import Iterable, Iterator, Sequence

from bench.analysis.cells import Absent
from bench.analysis.claims import Claim
from bench.analysis.hazards import clock_exposure as exposure
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.drift import DriftRow
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.harms import Hazard
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tolerance import ToleranceRow, clock_rule, fewest_clocks
from bench.analysis.judgement import Judgement, Verdict
from bench.records.meaning import Role

ABOUT = 2.0  # "about n ms" is met from half of n to twice n
ON_CLIENT_CLOCK = "dynamodb-client-clock"
REDLOCK = "redlock"


def redlock_tolerance(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C25: about 10 ms of drift break Redlock. The smallest jumps that did and the total drift, TTL by TTL."""
    rows = [row for row in hazards.tolerance if row.system == claim.system]
    drifts = [row for row in hazards.drift if row.system == claim.system]
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    trials = [*hazards.of(scenario, claim.system), *hazards.in_role(Role.CLOCK_DRIFT, claim.system)]
    smallest = _smallest_by_ttl(rows)
    drifted = joined(*(f"fast clocks: {_drift_words(row)}" for row in _most_exposed(drifts)))
    if not smallest:
        largest_ms = max(row.largest_tried_ms for row in rows)
        why = joined(f"no jump of up to {largest_ms:,.0f} ms gave two holders", _clocks_words(rows), drifted)
        verdict, why = _decided(Verdict.FAILS, why, rows)
        yield judged(claim, verdict, why, trials, found="none")
        return
    low, high = (claim.low or 0.0) / ABOUT, (claim.high or 0.0) * ABOUT
    met = [low <= (row.smallest_breaking_ms or 0.0) <= high for row in smallest.values()]
    met += [drifted_so for row in _most_exposed(drifts) if (drifted_so := _about(row, low, high)) is not None]
    found = ", ".join(
        f"{row.smallest_breaking_ms:,.0f} ms at a TTL of {ttl_ms:,} ms" for ttl_ms, row in smallest.items()
    )
    aside = ", ".join(f"{row.drift_ms:,.0f} ms" for row in smallest.values() if row.drift_ms is not None)
    rule = clock_rule(rows)
    reason = joined(
        f"smallest jump with two holders: {found}",
        f"set aside for drift: {aside}" if aside else "",
        "" if isinstance(rule, Absent) else f"the rule: {rule.words} ({rule.fit_words})",
        _clocks_words(rows),
        drifted,
    )
    if all(met) and len(smallest) > 1:
        verdict = Verdict.HOLDS
    elif all(met):
        verdict, reason = Verdict.CONDITION, f"at the one TTL that was tried: {reason}"
    elif any(met):
        verdict, reason = Verdict.CONDITION, f"at some TTLs, because the time set aside grows with the TTL: {reason}"
    else:
        verdict = Verdict.FAILS
    verdict, reason = _decided(verdict, reason, smallest.values())
    yield judged(claim, verdict, reason, trials, found=found)


def less_than_redlock(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C26: one Redis is less sensitive to a jump of the clock than Redlock: the smallest jumps of both, beside each
    other, at equal TTL and less what was left of the holder's validity."""
    own = {(row.ttl_ms, row.when): row for row in hazards.tolerance if row.system == claim.system and row.over_left_ms}
    beside = [row for row in hazards.tolerance if row.system == REDLOCK]
    trials = [*hazards.of(scenario, claim.system), *hazards.of(scenario, REDLOCK)]
    if not hazards.of(scenario, claim.system):
        ahead = [row for row in hazards.in_role(Role.SERVER_CLOCKS, claim.system) if exposure.servers_ahead(row)]
        if not ahead:
            yield missing(claim, hazards, scenario, *scenarios_in(Role.SERVER_CLOCKS))
            return
        shown = Exposed.of(ahead).shown
        why = f"no search for the smallest jump on one Redis; jumps {_jump(ahead)}: two holders {shown.words}"
        yield judged(claim, Verdict.NOT_MEASURED, why, ahead)
        return
    bare = [row for row in beside if row.nodes_held == row.nodes_needed]
    fewest = min((row.nodes_jumped for row in bare if row.broke), default=None)
    pairs = [
        (own[row.ttl_ms, row.when], row)
        for row in bare
        if row.nodes_jumped == fewest and row.over_left_ms and (row.ttl_ms, row.when) in own
    ]
    if not pairs:
        why = "the smallest jump for Redlock with a bare majority was not found at the same TTL"
        yield judged(claim, Verdict.NOT_MEASURED, why, trials)
        return
    sides = {_less(one, other) for one, other in pairs}
    shown_pairs = sorted((pair for pair in pairs if pair[0].when == "late"), key=lambda pair: pair[0].ttl_ms) or pairs
    ends = dict.fromkeys(_beside(*pair) for pair in (shown_pairs[0], shown_pairs[-1]))
    reason = joined(
        f"smallest jump of one clock, one Redis against Redlock on {pairs[0][1].nodes_held} nodes, in {len(pairs)} "
        f"search{'es' if len(pairs) > 1 else ''} of each: {', '.join(ends)}",
        f"Redlock: {_clocks_words(beside)}",
    )
    if sides == {True} and fewest == 1:
        verdict = Verdict.HOLDS
    elif sides == {False}:
        verdict, reason = Verdict.FAILS, f"one Redis breaks at the smaller jump: {reason}"
    else:
        verdict, reason = Verdict.CANNOT_SAY, f"the brackets cannot distinguish the two: {reason}"
    verdict, reason = _decided(verdict, reason, [row for pair in pairs for row in pair])
    yield judged(claim, verdict, reason, trials, found=_beside(*shown_pairs[0]))


def not_sensitive(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C27, C28, C29: no jump of a wall clock gives two holders, of the servers, and of the client where asked for; and
    none keeps the lock of a holder that crashed.
    """
    every = hazards.of(scenario, claim.system)
    if not every:
        yield missing(claim, hazards, scenario)
        return
    client_rows = hazards.in_role(Role.CLIENT_CLOCKS, claim.system)
    crash_rows = hazards.in_role(Role.CLOCKS_AND_CRASH, claim.system)
    servers, client, crashed = Exposed.of(every), Exposed.of(client_rows), Exposed.of(crash_rows)
    crashes, blocked = crashed.rows, crashed.unavailable
    whose = "servers' clocks" if every[0].capability_ms("nodes") > 1 else "the server's clock"
    outside = _outside(servers.outside + client.outside + crashed.outside)
    if outside:
        found, rows = f"two holders in {servers.shown.words}", (*servers.judged, *client.judged, *crashed.judged)
        yield judged(claim, Verdict.FAILS, outside, rows, found=found)
        return
    if not servers.rows:
        never = exposure.why_not_by_servers(every[0])
        verdict = Verdict.NOT_TESTABLE if never else Verdict.NOT_MEASURED
        yield judged(claim, verdict, never or exposure.TOO_SHORT, [*every, *client_rows, *crash_rows])
        return
    clock = every[0].capability("lease_clock")
    asked = "client" in claim.how_to_test
    no_client = exposure.why_not_by_client(every[0]) if client_rows else ""
    why = joined(
        f"{whose} jumped ahead {_jump(servers.rows)}: two holders in {servers.shown.words}",
        f"its designers say that leases end by {clock} time" if clock else "",
        f"the client's clock jumped: {client.shown.words}" if client.rows else "",
        f"{no_client}, so client jumps are not counted" if asked and no_client else "",
        f"{whose} set back as the holder crashed: {Hazard.BLOCKED.words} in {blocked.words}"
        if crashes
        else "a crash with clocks set back was not measured",
        f"two holders then in {crashed.shown.words}" if crashed.shown.seen else "",
    )
    rows = (*servers.rows, *client.rows, *crashes)
    if servers.shown.seen or client.shown.seen or blocked.seen or crashed.shown.seen:
        verdict = Verdict.FAILS
    elif asked and not client.rows:
        verdict, why = Verdict.CONDITION, f"for the servers' clocks only: {why}"
        if not client_rows:
            why = f"{why}; the client's clock was not stepped"
    elif not crashes:
        verdict, why = Verdict.CONDITION, f"while the holder is alive: {why}"
    else:
        verdict = Verdict.HOLDS
    found = joined(f"two holders in {servers.shown.words}", f"blocked in {blocked.words}" if crashes else "")
    noughts = [servers.shown, *([client.shown] if client.rows else []), *([blocked] if crashes else [])]
    unseen = [] if verdict is Verdict.FAILS else noughts
    yield judged(claim, verdict, why, rows, found=found, unseen=unseen)


def by_whose_clock(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C30: it depends on how expiry is judged; both ways are measured."""
    every = hazards.of(scenario, claim.system)
    record, clock = Exposed.of(every), Exposed.of(hazards.of(scenario, ON_CLIENT_CLOCK))
    if not record.rows and not clock.rows:
        yield missing(claim, hazards, scenario)
        return
    outside = _outside(record.outside)
    why = joined(
        f"expiry judged by an unchanged record: two holders in {record.shown.words}" if record.rows else "",
        f"by the client's clock: {clock.shown.words}" if clock.rows else "",
        outside,
    )
    rows = (*record.judged, *clock.rows)
    if record.harmful:
        verdict = Verdict.FAILS
    elif clock.shown.seen and record.rows:
        verdict, why = Verdict.CONDITION, f"if no client's clock judges the expiry: {why}"
    elif clock.shown.seen:
        verdict = Verdict.FAILS
    else:
        verdict = Verdict.HOLDS
    found = f"two holders in {record.shown.words}" if record.rows else ""
    found = joined(found, f"{clock.shown.words} by the client's clock" if clock.rows else "")
    unseen = [] if verdict is Verdict.FAILS else [record.shown]
    yield judged(claim, verdict, why, rows, found=found, unseen=unseen)


def _decided(verdict: Verdict, why: str, rows: Iterable[ToleranceRow]) -> tuple[Verdict, str]:
    """One run decides nothing: each of these searches must have been made in two at least."""
    if all(len(row.evidence) > 1 for row in rows):
        return verdict, why
    return Verdict.CANNOT_SAY, f"searched in only one run: {why}"


def _smallest_by_ttl(rows: Sequence[ToleranceRow]) -> dict[int, ToleranceRow]:
    """For each TTL the row with the smallest breaking jump, over all nodes and moments."""
    found: dict[int, ToleranceRow] = {}
    for row in sorted((row for row in rows if row.broke), key=lambda row: (row.ttl_ms, row.smallest_breaking_ms)):
        found.setdefault(row.ttl_ms, row)
    return found


def _clocks_words(rows: Iterable[ToleranceRow]) -> str:
    """How many clocks had to jump, by the nodes held: "clocks needed: 1 of 3 held, 2 of 4 held (1 is not enough)"."""
    counts = []
    for held, (broken, survived) in fewest_clocks(rows).items():
        fewer = f"{survived} {'is' if survived == 1 else 'are'} not enough" if survived else ""
        if broken is None:
            counts.append(f"none of {held} held, {fewer}")
        else:
            counts.append(f"{broken} of {held} held{f' ({fewer})' if fewer else ''}")
    return f"clocks needed: {', '.join(counts)}"


def _most_exposed(rows: Sequence[DriftRow]) -> list[DriftRow]:
    """For each TTL the row of the fewest nodes held, and of the most clocks that ran fast among them."""
    found: dict[int, DriftRow] = {}
    for row in sorted(rows, key=lambda row: (row.ttl_ms, row.nodes_held, -row.nodes_drifting)):
        found.setdefault(row.ttl_ms, row)
    return list(found.values())


def _drift_words(row: DriftRow) -> str:
    return f"{row.words} at a TTL of {row.ttl_ms:,} ms, on {row.nodes_drifting} of {row.nodes_held} held nodes"


def _about(row: DriftRow, low: float, high: float) -> bool | None:
    """Does a total drift of about that much break it? None: the bracket does not say."""
    broke, survived = row.smallest_breaking_percent, row.largest_survived_percent
    if survived is not None and row.gained_ms(survived) > high:
        return False
    return True if broke is not None and low <= row.gained_ms(broke) <= high else None


def _less(one: ToleranceRow, other: ToleranceRow) -> bool | None:
    """Is the first the less sensitive: were all of its harmless jumps beyond what broke the other? None: cannot say."""
    assert one.over_left_ms is not None
    assert other.over_left_ms is not None
    (one_survived, one_broke), (other_survived, other_broke) = one.over_left_ms, other.over_left_ms
    if one_survived is not None and one_survived >= other_broke:
        return True
    return False if other_survived is not None and one_broke <= other_survived else None


def _beside(one: ToleranceRow, other: ToleranceRow) -> str:
    return (
        f"{one.smallest_breaking_ms:,.0f} ms with {one.left_ms:,.1f} ms left against "
        f"{other.smallest_breaking_ms:,.0f} ms with {other.left_ms:,.1f} ms left at a TTL of {one.ttl_ms:,} ms"
    )


def _outside(count: Count) -> str:
    """Harm in trials that were not exposed to it; "" where there was none."""
    return f"two holders also in {count.words} unexposed trials" if count.seen else ""


def _jump(rows: Sequence[TrialRow]) -> str:
    """How far the clocks jumped, as confirmed."""
    amounts = [
        abs(fault.amount) for row in rows for fault in row.faults if fault.amount is not None and fault.unit == "ms"
    ]
    if not amounts:
        return "beyond the TTL"
    least, most = min(amounts), max(amounts)
    return f"by {least:,.0f} ms" if least == most else f"by {least:,.0f} to {most:,.0f} ms"
