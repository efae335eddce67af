"""Why a verdict is what it is, in words: for a system that cannot show a hazard most of all."""

from collections.abc import Sequence

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.harms import (
    LOOKING_MS,
    Hazard,
    believed_on_ms,
    longest_block_ms,
    refused_by_itself,
    told_too_late,
)
from bench.analysis.hazards.meanings import plays
from bench.analysis.hazards.nodes import nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.hazards import EndOfBelief
from bench.records.meaning import Role


def reason_for(counted: Exposed, hazard: Hazard, void_causes: Sequence[str]) -> str:
    """Clauses joined by semicolons."""
    verdict, rows = counted.verdict, counted.rows
    clauses: list[str] = []
    if verdict is HazardVerdict.NOT_MEASURED:
        clauses += [*(f"void: {cause}" for cause in dict.fromkeys(void_causes)), *counted.why_unexposed]
    elif verdict is HazardVerdict.SAFE:
        harm = hazard if counted.shown.of else Hazard.AVAILABILITY
        seen = counted.unavailable if harm.of_availability else counted.shown
        two = harm in (Hazard.TWO_HOLDERS, Hazard.LOST_LOCK)
        clauses.append(never_two(counted) if two else f"{harm.words} in {seen.words}")
        clauses += [pinned(rows), outlived(rows), _notified_after(rows), _served_after(rows), _blocked(rows)]
    elif verdict is HazardVerdict.UNAVAILABLE:
        harm = hazard if hazard.of_availability else Hazard.AVAILABILITY
        clauses.append(f"{harm.words} in {counted.unavailable.words}" if counted.unavailable.of else "")
        clauses += [_apart(counted.unavailable_outside, harm), _stopped(rows), outlived(rows), _served_after(rows)]
    else:
        harm = Hazard.TWO_HOLDERS if hazard.of_availability else hazard
        clauses += [f"{harm.words} in {counted.shown.words}" if counted.shown.of else "", outside(counted, harm)]
        clauses.append(_smallest_step(counted))
        clauses += _what_a_fence_did(counted) if hazard is not Hazard.FREED_FOR_ANOTHER else []
    return "; ".join(part for part in clauses if part)


def outside(counted: Exposed, harm: Hazard) -> str:
    """Harm in trials whose staging did not make for it; "" where there was none."""
    apart = _apart(counted.outside, harm)
    return f"{apart} ({', '.join(counted.why_unexposed)})" if apart else ""


def _apart(count: Count, harm: Hazard) -> str:
    return f"{harm.words} also in {count.seen} of {count.of} unexposed trials" if count.seen else ""


def _smallest_step(counted: Exposed) -> str:
    """Of a search: where it ended; "" where nothing was searched for."""
    searched = [row for row in counted.harmful if subject_of(row.scenario).searched]
    jumps_ms = [float(row.parameter("jump_ms", 0.0)) for row in searched]
    return f"from a jump of {min(jumps_ms):,.0f} ms on" if jumps_ms else ""


def _what_a_fence_did(counted: Exposed) -> list[str]:
    if not counted.has_token:
        met = counted.late_with
        fenced = f": late writes accepted with the fence on: {met.words}" if met.of else ""
        return [f"no token for a fence to compare{fenced}"]
    without = f"late writes accepted: without the fence {counted.late_without.words}"
    if not counted.late_with.of:
        return [
            without if counted.late_without.of else "",
            counted.ahead or "no late write met a fence",  # one that every later holder read met it, and did no harm
        ]
    on = counted.late_with.words
    only_on = f"late writes accepted with the fence on: {on}"
    clauses = [f"{without}, with it {on}" if counted.late_without.of else only_on]
    fell = sum(len(row.checked.token_faults) for row in counted.judged)
    if fell and counted.late_with.seen:
        clauses.append(f"the later grant had no greater token in {fell} pairs of grants")
    return [*clauses, counted.ahead]


def pinned(rows: Sequence[TrialRow]) -> str:
    """How long a lock without a TTL kept the others waiting; "" where there is a TTL, or nobody waited."""
    longest_ms = longest_pin_ms(rows)
    if longest_ms is None:
        return ""
    return f"no TTL: the lock lasts as long as its connection; the contender waited up to {longest_ms:,.0f} ms"


def longest_pin_ms(rows: Sequence[TrialRow]) -> float | None:
    """The longest that a waiter was kept from a lock that has no TTL; None where there is a TTL, or nobody waited."""
    held = [
        row for row in rows if not row.has_lease and plays(row.scenario, Role.PINNING) and not row.checked.overlap_ns
    ]
    return max((wait for row in held if (wait := _pinned_ms(row)) is not None and wait >= 0.0), default=None)


def _pinned_ms(row: TrialRow) -> float | None:
    for name in ("pinned_ms", "wait_ms"):
        if (measured_ms := row.measure(name)) is not None:
            return measured_ms
    waits = [
        (ask.answered_ns - ask.asked_ns) / 1e6
        for ask in row.trial.asks
        if ask.waited and ask.outcome == "acquired" and ask.answered_ns is not None
    ]
    return max(waits, default=None)


def never_two(counted: Exposed) -> str:
    """That two holders were not seen, and the holders that believed on to no harm, which are not counted as such."""
    shown, late = counted.shown, [row for row in counted.rows if refused_by_itself(row)]
    if not late:
        return f"two holders in {shown.words}"
    believed_ms = max(row.overlap_ms for row in late)
    return (
        f"two holders that could both write in {shown.words}; in {len(late)} of these the stopped holder believed it "
        f"held the lock for up to {believed_ms:,.0f} ms alongside the next holder, but its late write was rolled back "
        "with its transaction, without any fence"
    )


def outlived(rows: Sequence[TrialRow]) -> str:
    """Did the lock survive what struck its servers, and if not, was its holder notified; "" where not asked."""
    asked = [
        (row, bool(value))
        for row in rows
        if plays(row.scenario, Role.SURVIVAL)
        for name in ("still_held", "survived")
        if (value := row.measure(name)) is not None
    ]
    if not asked:
        return ""
    lost = [row for row, held in asked if not held]
    words = f"the lock survived {len(asked) - len(lost)} of {len(asked)} trials"
    if not lost:
        return words
    knew = sum(any(belief.ended_by is EndOfBelief.LOST for belief in row.trial.beliefs) for row in lost)
    return f"{words}, and its holder was notified of {knew} of {len(lost)} losses"


def _notified_after(rows: Sequence[TrialRow]) -> str:
    """By how much a holder that looks all the time came to know too late; "" where none did."""
    late_ms = max((believed_on_ms(row) for row in rows if subject_of(row.scenario).shows is told_too_late), default=0.0)
    if not late_ms:
        return ""
    return (
        f"a holder was notified at most {late_ms:,.0f} ms after the next grant; it checks every 5 ms, so up to "
        f"{LOOKING_MS:,.0f} ms are attributed to its polling"
    )


def _served_after(rows: Sequence[TrialRow]) -> str:
    """How long after a crash somebody else had the lock; "" where that was not timed."""
    took = [value for row in rows if (value := row.measure("recovery_ms")) is not None and value >= 0.0]
    least, most = (f"{value:,.0f}" for value in (min(took, default=0.0), max(took, default=0.0)))
    return f"the next client got the lock after {least if least == most else f'{least} to {most}'} ms" if took else ""


def _blocked(rows: Sequence[TrialRow]) -> str:
    """How long the key was blocked after its acquire's reply was lost; "" where that was not timed."""
    took = [(value, row) for row in rows if (value := row.measure("blocked_ms")) is not None and value >= 0.0]
    if not took:
        return ""
    longest_ms, row = max(took, key=lambda one: one[0])
    return f"the next client waited at most {longest_ms:,.0f} ms of the {longest_block_ms(row):,.0f} ms a lease allows"


def _stopped(rows: Sequence[TrialRow]) -> str:
    """Which servers were missing for a quorum; "" where that is not what the trials are about."""
    down = sorted({nodes_down_of(row) for row in rows if plays(row.scenario, Role.NODES_STOPPED)})
    if not down:
        return ""
    numbers = f"{down[0]}" if len(down) == 1 else f"{down[0]} to {down[-1]}"
    return f"{numbers} of {rows[0].capability('nodes')} servers stopped, {rows[0].capability('quorum')} must answer"
