"""Why a verdict is what it is, in words: for a system that cannot show a hazard most of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.late_writes import ahead_words, stale_count
from bench.analysis.hazards.nodes import nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.subjects import (
    LOOKING_MS,
    Hazard,
    believed_on_ms,
    longest_block_ms,
    refused_by_itself,
    subject_of,
    told_too_late,
)
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.hazards import EndOfBelief

if TYPE_CHECKING:
    from bench.analysis.hazards.verdicts import VoidRun

# Those in which somebody waits for the end of a pause, and those in which a clock is stepped.
PINNING = ("gc-pause", "page-scenario", "watchdog", "idle-in-transaction", "late-release")
CLOCKS = ("server-clock", "client-clock")


def reason_for(
    verdict: HazardVerdict,
    hazard: Hazard,
    rows: Sequence[TrialRow],
    shown: Count,
    stale_with: Count,
    unavailable: Count,
    void: Sequence["VoidRun"],
) -> str:
    """Clauses joined by semicolons."""
    told: list[str] = []
    if verdict is HazardVerdict.NOT_MEASURED:
        told += dict.fromkeys(f"void: {one.cause}" for one in void) or ["no trial could have shown it"]
    elif verdict is HazardVerdict.SAFE:
        seen = unavailable if hazard.of_availability else shown
        two = hazard in (Hazard.TWO_HOLDERS, Hazard.LOST_LOCK)
        told.append(never_two(rows, shown) if two else f"{hazard.words} in {seen.words}")
        told += [pinned(rows), outlived(rows), _told_after(rows)]
        told += [_no_clock_ends_it(rows), _served_after(rows), _blocked(rows)]
    elif verdict is HazardVerdict.UNAVAILABLE:
        harm = hazard if hazard.of_availability else Hazard.AVAILABILITY
        told += [f"{harm.words} in {unavailable.words}", _stopped(rows), outlived(rows)]
    elif verdict is HazardVerdict.UNSAFE:
        told.append(f"{(Hazard.TWO_HOLDERS if hazard.of_availability else hazard).words} in {shown.words}")
        told += _why_unsafe(rows, stale_with) if hazard is not Hazard.FREED_FOR_ANOTHER else []
    elif verdict is HazardVerdict.WITH_FENCING:
        without = stale_count(rows, False)
        told += [
            f"late writes accepted without the fence {without.words}, with it {stale_with.words}",
            ahead_words(rows),
        ]
    return "; ".join(part for part in told if part)


def pinned(rows: Sequence[TrialRow]) -> str:
    """How long a lock without a TTL kept the others waiting; "" where there is a TTL, or nobody waited."""
    held = [row for row in rows if not row.has_lease and row.scenario in PINNING and not row.checked.overlap_ns]
    waits = [wait for row in held if (wait := _pinned_ms(row)) is not None and wait >= 0.0]
    if not waits:
        return ""
    return f"no TTL: the lock ends with its connection and pins, the contender waited up to {max(waits):,.0f} ms"


def _pinned_ms(row: TrialRow) -> float | None:
    for name in ("pinned_ms", "wait_ms"):
        if (told := row.measure(name)) is not None:
            return told
    waits = [
        (ask.answered_ns - ask.asked_ns) / 1e6
        for ask in row.trial.asks
        if ask.waited and ask.outcome == "acquired" and ask.answered_ns is not None
    ]
    return max(waits, default=None)


def never_two(rows: Sequence[TrialRow], shown: Count) -> str:
    """That two holders were not seen, and the holders that believed on to no harm, which are not counted as such."""
    late = [row for row in rows if refused_by_itself(row)]
    if not late:
        return f"two holders in {shown.words}"
    believed_ms = max(row.overlap_ms for row in late)
    return (
        f"two holders that could both write in {shown.words}; in {len(late)} of these the stopped holder believed in "
        f"the lock for up to {believed_ms:,.0f} ms beside the next one, and its late write was refused without any "
        "fence, gone with its transaction"
    )


def outlived(rows: Sequence[TrialRow]) -> str:
    """Was the lock still held after its servers were struck, and if not, was its holder told; "" where not asked."""
    told = [
        (row, bool(value))
        for row in rows
        if row.scenario in ("restart", "stalled-leader")
        for name in ("still_held", "survived")
        if (value := row.measure(name)) is not None
    ]
    if not told:
        return ""
    lost = [row for row, held in told if not held]
    words = f"the lock outlived it in {len(told) - len(lost)} of {len(told)}"
    if not lost:
        return words
    knew = sum(any(belief.ended_by is EndOfBelief.LOST for belief in row.trial.beliefs) for row in lost)
    return f"{words}, and its holder was told of the loss in {knew} of {len(lost)}"


def _told_after(rows: Sequence[TrialRow]) -> str:
    """By how much a holder that looks all the time came to know too late; "" where none did."""
    late_ms = max((believed_on_ms(row) for row in rows if subject_of(row.scenario).shows is told_too_late), default=0.0)
    if not late_ms:
        return ""
    return (
        f"a holder was told at most {late_ms:,.0f} ms after the next grant, looking every 5 ms (up to "
        f"{LOOKING_MS:,.0f} ms are put down to its looking)"
    )


def _no_clock_ends_it(rows: Sequence[TrialRow]) -> str:
    """Why no clock could have given two holders; "" where there is a lease, or no clock was stepped."""
    if any(row.has_lease or row.scenario not in CLOCKS for row in rows):
        return ""
    return "no TTL: the lock ends with its connection, which no clock ends"


def _served_after(rows: Sequence[TrialRow]) -> str:
    """How long after a crash somebody else had the lock; "" where that was not timed."""
    took = [value for row in rows if (value := row.measure("recovery_ms")) is not None and value >= 0.0]
    return f"the next client had it after {min(took):,.0f} to {max(took):,.0f} ms" if took else ""


def _blocked(rows: Sequence[TrialRow]) -> str:
    """How long the key was blocked after its acquire's reply was lost; "" where that was not timed."""
    took = [(value, row) for row in rows if (value := row.measure("blocked_ms")) is not None and value >= 0.0]
    if not took:
        return ""
    longest_ms, row = max(took, key=lambda one: one[0])
    return (
        f"the next client waited at most {longest_ms:,.0f} ms, of {longest_block_ms(row):,.0f} ms that a lease allows"
    )


def _stopped(rows: Sequence[TrialRow]) -> str:
    """Which servers were missing for a quorum; "" where that is not what the trials are about."""
    down = sorted({nodes_down_of(row) for row in rows if row.scenario == "nodes-down"})
    if not down:
        return ""
    numbers = f"{down[0]}" if len(down) == 1 else f"{down[0]} to {down[-1]}"
    return f"{numbers} of {rows[0].capability('nodes')} servers stopped, {rows[0].capability('quorum')} must answer"


def _why_unsafe(rows: Sequence[TrialRow], stale_with: Count) -> list[str]:
    if not any(row.has_token for row in rows):
        fenced = f": late writes accepted with the fence on {stale_with.words}" if stale_with.of else ""
        return [f"no token, so that a fence has nothing to compare{fenced}"]
    told: list[str] = []
    if stale_with.seen:
        told.append(f"late writes accepted with the fence on {stale_with.words}")
        fell = sum(len(row.checked.token_faults) for row in rows)
        if fell:
            told.append(f"the later token was not the greater one in {fell} pairs of grants")
    elif not stale_with.of:
        told.append("whether a fence would refuse the late write was not tried")
    return [*told, ahead_words(rows)]
