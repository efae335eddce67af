"""Claims about paused and cut off holders: C19-C24, C63, C64, and the two pages' scenarios C31, C33, C53."""

from collections.abc import Iterator

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims.base import joined, judged, missing, of_times, systems_of
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.late_writes import ahead_of_the_fence, late_count
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.reasons import never_two, pinned
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.variants import shown_at_write
from bench.analysis.hazards.window import WindowFit
from bench.analysis.judgement import Judgement, Verdict
from bench.records.meaning import Role

SLOPE_TOLERATED = 0.1


def not_safe(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C19, C20: not safe under pauses. Where a checked token refuses every late write, that is a condition."""
    held = Exposed.of(_paused(claim.system, hazards))
    if not held.judged:
        yield missing(claim, hazards, *scenarios_in(Role.PAUSE_MAP))
        return
    without = f"late writes accepted: without a fence {held.late_without.words}"
    fenced = f"with it {held.late_with.words}"
    unseen: list[Count] = []
    if not held.harmful:
        verdict, why, unseen = Verdict.FAILS, joined(never_two(held), pinned(held.rows)), [held.shown]
    elif not held.has_token:
        verdict, why = Verdict.HOLDS, f"{without}, {fenced}, as there is no token to check"
    elif held.late_with.none:
        source = held.judged[0].capability("fencing_source")
        verdict, unseen = Verdict.CONDITION, [held.late_with]
        why = joined(
            f"as long as no token is checked: {without}, {fenced} (token: {source})", _gap(claim.system, hazards)
        )
    elif held.late_with.seen:
        verdict, why = Verdict.HOLDS, joined(f"{without}, {fenced}", held.ahead)
    else:
        verdict, why = Verdict.HOLDS, f"{without}; no late write met a fence"
    yield judged(claim, verdict, why, held.judged, found=_found(held), unseen=unseen)


def safe_with_fencing(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C21 to C24: safe under pauses with fencing. What happens without it is added."""
    held = Exposed.of(_paused(claim.system, hazards))
    if not held.judged:
        yield missing(claim, hazards, *scenarios_in(Role.PAUSE_MAP))
        return
    fenced = f"late writes accepted with the fence on: {held.late_with.words}"
    without = f"without it {held.late_without.words}" if held.late_without.of else ""
    unseen, gap = [held.late_with], _gap(claim.system, hazards)
    if not held.harmful:
        verdict, why, unseen = (
            Verdict.HOLDS,
            joined(never_two(held), "with or without a fence", pinned(held.rows)),
            [held.shown],
        )
    elif held.late_with.seen > sum(map(ahead_of_the_fence, held.judged)):
        verdict, why = Verdict.FAILS, joined(fenced, without)
    elif held.late_with.seen:
        verdict, why = (
            Verdict.CONDITION,
            joined(f"once the resource has seen the new token: {fenced}", held.ahead, without),
        )
    elif held.late_with.none and gap:
        condition = f"if the new holder presents its token before its first read: {fenced}"
        verdict, why = Verdict.CONDITION, joined(condition, gap, without)
    elif held.late_with.none:
        verdict, why = Verdict.HOLDS, joined(fenced, without)
    else:
        verdict, why = Verdict.NOT_TESTABLE, joined("no late write met a fence", without)
    yield judged(claim, verdict, why, held.judged, found=_found(held), unseen=unseen)


def correct_without_fence(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C63, C64: correct under pauses and partitions, without a checked fence. Two holders need no late write to be
    wrong, and are the same with the fence on."""
    pulled = [row for row in hazards.in_role(Role.CUT_OFF, claim.system) if not row.fence]
    parts = {
        "holder stopped": Exposed.of(hazards.of(scenario, claim.system, fence=False)),
        "holder cut off": Exposed.of([row for row in pulled if row.parameter("asks_first", True)]),
        "holder cut off, not checking first": Exposed.of(
            [row for row in pulled if not row.parameter("asks_first", True)]
        ),
    }
    if not any(held.judged for held in parts.values()):
        yield missing(claim, hazards, scenario, *scenarios_in(Role.CUT_OFF))
        return
    wire = Exposed.of([row for row in hazards.in_role(Role.LATE_ARRIVAL, claim.system) if not row.fence])
    fenced = Exposed.of(
        (*hazards.of(scenario, claim.system, fence=True), *hazards.in_role(Role.CUT_OFF, claim.system, fence=True))
    )
    counts = [
        f"{what}: two holders in {held.shown.words}, {_late_words(held.late_without)}"
        if held.judged
        else f"{what}: not tried"
        for what, held in parts.items()
    ]
    counts += [f"write delayed on the wire: {_late_words(wire.late_without)}"] if wire.judged else []
    counts += [f"with the fence on: two holders in {len(fenced.harmful)} trials"] if fenced.harmful else []
    accepted = sum((late_count(held.judged, False) for held in (*parts.values(), wire)), NOBODY_LOOKED)
    redis = Exposed.of(hazards.of(scenario, "redis", fence=False)).late_without
    unseen = [held.shown for held in parts.values()]
    if accepted.seen:
        likewise = f"Redis, stopped the same way: late writes accepted {redis.words}" if redis.seen else ""
        verdict, why, unseen = Verdict.FAILS, joined(*counts, likewise), []
    elif any(held.harmful for held in (*parts.values(), fenced)):
        verdict, why, unseen = Verdict.FAILS, joined(*counts), []
    elif not all(held.rows for held in parts.values()):
        verdict, why = Verdict.CONDITION, joined(*counts)
    else:
        verdict, why = Verdict.HOLDS, joined(*counts)
    rows = [row for held in (*parts.values(), wire) for row in held.judged] + list(fenced.harmful)
    yield judged(claim, verdict, why, rows, found=f"late writes accepted {accepted.words}", unseen=unseen)


def hazard_window(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C31: the window is pause - TTL; one judgement a system."""
    for fit in hazards.window_fits:
        rows = hazards.of(scenario, fit.system)
        if fit.median_difference_ms is None or not rows[0].has_lease:
            yield judged(claim, Verdict.NOT_TESTABLE, fit.reason, rows, system=fit.system)
            continue
        verdict, why = of_times(*_window_verdict(fit), fit.runs)
        slope = "" if fit.slope is None else f"slope {fit.slope:.2f}, "
        found = f"{slope}median difference {fit.median_difference_ms:,.0f} ms"
        yield judged(claim, verdict, why, rows, system=fit.system, found=found)
    if not hazards.window_fits:
        yield missing(claim, hazards, scenario)


def watchdog(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C33: a watchdog shrinks the hazard (it outlives its worker), and does not remove it (a pause stops both)."""
    every = hazards.of(scenario)
    for system in systems_of(every):
        rows = [row for row in every if row.system == system]
        whole = Exposed.of([row for row in rows if row.parameter("stalled") == "process"])
        worker = Exposed.of([row for row in rows if row.parameter("stalled") == "worker"])
        counts = joined(
            f"process and watchdog stopped: two holders in {whole.shown.words}",
            f"worker stalled, watchdog alive: {worker.shown.words}",
        )
        if not rows[0].has_lease:
            verdict, why = Verdict.NOT_TESTABLE, pinned(rows) or "the lock has no TTL that a watchdog could renew"
        elif not whole.shown.of or not worker.shown.of:
            verdict, why = Verdict.NOT_TESTABLE, f"no stall could outlast a lease here; {counts}"
        elif worker.shown.seen:
            verdict, why = Verdict.FAILS, f"the watchdog did not shrink the hazard: {counts}"
        elif not whole.shown.seen:
            verdict, why = Verdict.FAILS, f"the watchdog removed the hazard: {counts}"
        else:
            verdict, why = Verdict.HOLDS, counts
        found = f"stopped {whole.shown.words}; alive {worker.shown.words}"
        unseen = [] if worker.shown.seen else [worker.shown if verdict is Verdict.HOLDS else whole.shown]
        yield judged(claim, verdict, why, rows, system=system, found=found, unseen=unseen)
    if not every:
        yield missing(claim, hazards, scenario)


def page_scenario(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C53: without fencing two holders and a corrupted counter; with it the late write is refused."""
    every = hazards.of(scenario)
    for system in systems_of(every):
        rows = [row for row in every if row.system == system]
        off, on = [[row for row in rows if bool(row.fence) is fence] for fence in (False, True)]
        both = Count.over(off, lambda row: row.checked.overlap_ns > 0 and row.checked.lost_updates > 0)
        refused = Count.over(on, lambda row: row.checked.stale_refused > 0 and not row.checked.stale_accepted)
        counts = joined(
            f"fence off: two holders and a lost update in {both.seen} of {both.of}",
            f"fence on: late write refused in {refused.seen} of {refused.of}",
        )
        if not rows[0].has_lease:
            verdict, why = Verdict.NOT_TESTABLE, pinned(rows) or "the lock has no TTL"
        elif not off or not on:
            verdict, why = Verdict.NOT_TESTABLE, f"only one half was played: {counts}"
        elif both.seen == both.of and refused.seen == refused.of:
            verdict, why = Verdict.HOLDS, counts
        elif both.seen == both.of and not any(row.has_token for row in on):
            verdict, why = Verdict.FAILS, f"the second half fails, because there is no token: {counts}"
        else:
            verdict, why = Verdict.FAILS, counts
        accepted = Count.over(on, lambda row: row.checked.stale_accepted > 0)
        unseen = [accepted] if verdict is Verdict.HOLDS else [both] if both.none and not accepted.seen else []
        yield judged(claim, verdict, why, rows, system=system, found=counts, unseen=unseen)
    if not every:
        yield missing(claim, hazards, scenario)


def _late_words(accepted: Count) -> str:
    return f"late writes accepted {accepted.words}" if accepted.of else "no late write was sent"


def _paused(system: str, hazards: HazardEvidence) -> list[TrialRow]:
    """Pauses, with the token presented before the first read where the protocol was chosen."""
    return [row for row in hazards.in_role(Role.PAUSES, system) if not shown_at_write(row)]


def _gap(system: str, hazards: HazardEvidence) -> str:
    """What a fence did that saw the new token with a write only; "" where it refused every late write, or met none."""
    played = (*hazards.in_role(Role.PAUSES, system), *hazards.in_role(Role.LATE_AHEAD, system))
    at_write = [row for row in played if shown_at_write(row)]
    accepted = late_count(at_write, True)
    return f"token first shown by a write: late writes accepted {accepted.words}" if accepted.seen else ""


def _found(held: Exposed) -> str:
    if not held.shown.seen:
        return f"two holders in {held.shown.words}"
    return joined(
        f"accepted {held.late_without.words} without the fence" if held.late_without.of else "",
        f"{held.late_with.words} with it" if held.late_with.of else "",
    )


def _window_verdict(fit: WindowFit) -> tuple[Verdict, str]:
    off_ms, ttls = fit.median_difference_ms or 0.0, fit.median_difference_ttls or 0.0
    words = f"median difference {off_ms:,.0f} ms, {100.0 * ttls:.0f} % of the TTL, over {fit.points} pauses"
    if fit.slope is not None:
        words = f"slope {fit.slope:.2f}, {words}"
        if abs(fit.slope - 1.0) > SLOPE_TOLERATED:
            return Verdict.FAILS, joined(words, fit.reason)
    if fit.on_the_line and fit.slope is None:
        return Verdict.CONDITION, f"at the one pause length tried: {words}"
    if fit.on_the_line:
        return Verdict.HOLDS, words
    return Verdict.CONDITION, joined(words, fit.reason)
