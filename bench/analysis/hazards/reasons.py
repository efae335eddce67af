"""Why a verdict is what it is, in words: for a system that cannot show a hazard most of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.nodes import nodes_down_of
from bench.analysis.hazards.rows import TrialRow, stale_count
from bench.analysis.hazards.subjects import Hazard, believed_on_ms, refused_by_itself, subject_of, told_too_late
from bench.analysis.hazards.vocabulary import HazardVerdict

if TYPE_CHECKING:
    from bench.analysis.hazards.verdicts import VoidRun

PINNING = ("gc-pause", "page-scenario", "watchdog", "idle-in-transaction")  # those in which somebody waits for a pause


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
        told += [_seen(hazard, shown), pinned(rows), _harmless(rows), _outlived(rows), _told_after(rows)]
    elif verdict is HazardVerdict.UNAVAILABLE:
        told += [f"nobody got the lock in {unavailable.words}", _stopped(rows), _outlived(rows)]
    elif verdict is HazardVerdict.UNSAFE:
        told += [_seen(hazard, shown), *_why_unsafe(rows, stale_with)]
    elif verdict is HazardVerdict.WITH_FENCING:
        without = stale_count(rows, False)
        told.append(f"late writes accepted without the fence {without.words}, with it {stale_with.words}")
    return "; ".join(part for part in told if part)


def _seen(hazard: Hazard, shown: Count) -> str:
    if hazard is Hazard.FREED_FOR_ANOTHER:
        return f"another's lock was freed in {shown.words}"
    return f"two holders in {shown.words}"


def pinned(rows: Sequence[TrialRow]) -> str:
    """How long a lock without a TTL kept the others waiting; "" where there is a TTL, or nobody waited."""
    held = [row for row in rows if not row.has_lease and row.scenario in PINNING and not row.checked.overlap_ns]
    waits = [wait for row in held if (wait := _pinned_ms(row)) is not None and wait >= 0.0]
    if not waits:
        return ""
    return f"no TTL: the lock ends with its connection and pins, the contender waited up to {max(waits):,.0f} ms"


def _pinned_ms(row: TrialRow) -> float | None:
    told = row.measure("pinned_ms")
    return row.measure("wait_ms") if told is None else told


def _harmless(rows: Sequence[TrialRow]) -> str:
    """Late writes that needed no fence to be refused; "" where there was none."""
    late = [row for row in rows if row.checked.stale_writes]
    if not late:
        return ""
    return f"the late write was refused without any fence in {sum(map(refused_by_itself, late))} of {len(late)}"


def _outlived(rows: Sequence[TrialRow]) -> str:
    """Was the lock still held after its servers were struck? Where not, its holder came to know first."""
    told = [
        value
        for row in rows
        if row.scenario in ("restart", "stalled-leader")
        for name in ("still_held", "survived")
        if (value := row.measure(name)) is not None
    ]
    if not told:
        return ""
    count = Count.over(bool(value) for value in told)
    lost = "" if count.seen == count.of else ", else its holder was told"
    return f"the lock outlived it in {count.seen} of {count.of}{lost}"


def _told_after(rows: Sequence[TrialRow]) -> str:
    """By how much a holder that looks all the time came to know too late; "" where none did."""
    late_ms = max((believed_on_ms(row) for row in rows if subject_of(row.scenario).shows is told_too_late), default=0.0)
    return f"a holder was told at most {late_ms:,.0f} ms after the next grant, looking every 5 ms" if late_ms else ""


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
        unseen = sum(
            write.accepted is True and not write.by_token
            for row in rows
            if row.fence
            for write in row.checked.stale_writes
        )
        if fell:
            told.append(f"the token itself fell {fell} times")
        elif unseen:
            told.append(f"{unseen} of them came before the new holder's first write, where no fence can see them")
    elif not stale_with.of:
        told.append("whether a fence would refuse the late write was not tried")
    return told
