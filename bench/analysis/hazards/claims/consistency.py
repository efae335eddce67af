"""Claims about what servers remember: C44-C47, C60."""

from collections.abc import Iterator, Sequence

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.reasons import outlived
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.judgement import Judgement, Verdict
from bench.records.meaning import Role

BEFORE = "failover before replication"
AFTER = "failover after replication"
STAND_IN = {"postgres-advisory": "postgres-row"}  # the same server and connection, where the row itself was not played


def not_consistent(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C44: a restart or a failover loses the lock. Where a durable restart keeps it, the reason says so."""
    restarts, failovers = hazards.of(scenario, claim.system), hazards.in_role(Role.LEADER_LOST, claim.system)
    kinds = {str(row.parameter("durability", "")) for row in restarts}
    parts = [
        (f"restart, durability {kind}" if kind else "restart", Exposed.of(_durable(restarts, kind)))
        for kind in sorted(kinds, key=_durability_order)
    ]
    before, after = (_replicated(failovers, replicated) for replicated in (False, True))
    parts += [(what, Exposed.of(rows)) for what, rows in ((BEFORE, before), (AFTER, after)) if rows]
    counts = joined(
        *(f"{what}: two holders in {held.shown.words}" for what, held in parts if held.shown.of),
        *(f"{what}: not measured ({', '.join(held.why_unexposed)})" for what, held in parts if not held.shown.of),
    )
    if not any(held.shown.of for _, held in parts):
        yield missing(claim, hazards, scenario, *scenarios_in(Role.LEADER_LOST))
        return
    kept = [what for what, held in parts if held.shown.none]
    unseen = [held.shown for _, held in parts if held.shown.none]
    rows = [row for _, held in parts for row in held.judged]
    if not any(held.harmful for _, held in parts):
        verdict, why = Verdict.FAILS, counts
    elif kept and not Exposed.of(before).harmful:
        verdict, why = Verdict.CONDITION, f"not with {', '.join(kept)}: {counts}"
    else:
        verdict, why, unseen = Verdict.HOLDS, counts, []  # it was seen to be lost
    found = ", ".join(f"{what} {held.shown.seen} of {held.shown.of}" for what, held in parts if held.shown.of)
    yield judged(claim, verdict, why, rows, found=found, unseen=unseen)


def survives_failover(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C45, C46: with the leader killed, the lock is still held: nobody else gets it while its holder believes."""
    held = Exposed.of(hazards.of(scenario, claim.system))
    if not held.shown.of:
        yield missing(claim, hazards, scenario)
        return
    restarted = Exposed.of(hazards.in_role(Role.SERVERS_RESTARTED, claim.system))
    stalled = Exposed.of(hazards.in_role(Role.SERVER_STALLED, claim.system))
    kept = Count.over(held.rows, lambda row: row.measure("granted") == 0.0)
    counts = joined(
        f"leader killed while the lock is held: two holders in {held.shown.words}",
        f"still held in {kept.seen} of {kept.of}",
        f"all servers killed and restarted: two holders in {restarted.shown.words}" if restarted.shown.of else "",
        f"a server stalled: {stalled.shown.words}" if stalled.shown.of else "",
        outlived(stalled.rows),
    )
    shown = held.shown + restarted.shown + stalled.shown
    rows = [row for one in (held, restarted, stalled) for row in one.judged]
    broken = any(one.harmful for one in (held, restarted, stalled)) or kept.seen < kept.of
    verdict, unseen = (Verdict.FAILS, []) if broken else (Verdict.HOLDS, [held.shown])
    yield judged(claim, verdict, counts, rows, found=f"two holders in {shown.words}", unseen=unseen)


def replica_promoted(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C60: an asynchronous replica can be promoted without the lock."""
    every = hazards.of(scenario, claim.system)
    held, after = (Exposed.of(_replicated(every, replicated)) for replicated in (False, True))
    if not held.shown.of:
        yield missing(claim, hazards, scenario)
        return
    why = joined(
        f"{BEFORE}: two holders in {held.shown.words}",
        f"late writes accepted with the fence on {held.late_with.words}" if held.late_with.of else "",
        f"{AFTER}: two holders in {after.shown.words}" if after.shown.of else "",
    )
    verdict, unseen = (Verdict.HOLDS, []) if held.harmful else (Verdict.FAILS, [held.shown])
    found = f"two holders in {held.shown.words}"
    yield judged(claim, verdict, why, [*held.judged, *after.judged], found=found, unseen=unseen)


def server_killed(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C47: the server is killed while a lock is held: nobody else may hold it while its holder believes in it."""
    system = claim.system
    held = Exposed.of(hazards.of(scenario, system))
    stand_in = STAND_IN.get(system)
    if not held.shown.of and stand_in is not None:
        system = stand_in
        held = Exposed.of(hazards.of(scenario, system))
    if not held.shown.of:
        yield missing(claim, hazards, scenario)
        return
    asked = [row for row in held.rows if row.measure("still_held") is not None]
    kept = Count.over(asked, lambda row: bool(row.measure("still_held")))
    counts = joined(
        f"server killed while the lock is held: two holders in {held.shown.words}",
        outlived(held.rows),
        _answered_to(held.rows, "waiter"),
    )
    unseen = [held.shown]
    if held.harmful:
        verdict, why, unseen = Verdict.FAILS, counts, []
    elif system != claim.system:
        verdict, why = (
            Verdict.CONDITION,
            f"for a row lock, which ends with its connection as an advisory lock does: {counts}",
        )
    elif kept.seen < kept.of:
        verdict, why = Verdict.CONDITION, f"if the lock may end with the server and its holder is notified: {counts}"
    else:
        verdict, why = Verdict.HOLDS, counts
    found = f"two holders in {held.shown.words}"
    yield judged(claim, verdict, why, held.judged, system=system, found=found, unseen=unseen)


def _answered_to(rows: Sequence[TrialRow], actor: str) -> str:
    """What that actor's acquires came to, in the words of the adapters' contract."""
    outcomes = [ask.outcome for row in rows for ask in row.trial.asks if ask.actor == actor]
    counted = [f"{outcome or 'no answer'} {outcomes.count(outcome)}" for outcome in dict.fromkeys(outcomes)]
    return f"outcomes for the {actor}: {', '.join(counted)}" if counted else ""


def _replicated(rows: Sequence[TrialRow], replicated: bool) -> list[TrialRow]:
    return [row for row in rows if bool(row.parameter("replicated")) is replicated]


def _durable(rows: Sequence[TrialRow], kind: str) -> list[TrialRow]:
    return [row for row in rows if str(row.parameter("durability", "")) == kind]


def _durability_order(kind: str) -> tuple[int, str]:
    known = ["none", "no", "everysec", "always"]
    return (known.index(kind) if kind in known else len(known), kind)
