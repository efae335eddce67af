"""Why a verdict is what it is, in words: for a system that cannot show a hazard most of all."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.rows import TrialRow, stale_count
from bench.analysis.hazards.vocabulary import HazardVerdict

if TYPE_CHECKING:
    from bench.analysis.hazards.verdicts import VoidRun


def reason_for(
    verdict: HazardVerdict,
    rows: Sequence[TrialRow],
    shown: Count,
    stale_with: Count,
    has_token: bool,
    void: Sequence["VoidRun"],
) -> str:
    """One or two clauses, joined by semicolons; "" where the counts say it all."""
    told: list[str] = []
    if verdict is HazardVerdict.NOT_MEASURED:
        if void:
            told += dict.fromkeys(f"void: {one.cause}" for one in void)
        else:
            told.append("no trial could have shown it")
    elif verdict is HazardVerdict.SAFE:
        told += _why_safe(rows, shown)
    elif verdict is HazardVerdict.UNSAFE:
        told += _why_unsafe(rows, stale_with, has_token)
    elif verdict is HazardVerdict.WITH_FENCING:
        without = stale_count(rows, False)
        told.append(f"late writes accepted without the fence {without.words}, with it {stale_with.words}")
    return "; ".join(told)


def pinned(rows: Sequence[TrialRow]) -> str:
    """How long a lock without a TTL kept the others waiting; "" where there is a TTL, or nobody waited."""
    held = [row for row in rows if not row.has_lease]
    waits = [wait for row in held if (wait := _pinned_ms(row)) is not None and wait >= 0.0]
    if not waits:
        return ""
    return f"no TTL: the lock stays with the connection and pins, the contender waited up to {max(waits):,.0f} ms"


def _pinned_ms(row: TrialRow) -> float | None:
    told = row.measure("pinned_ms")
    return row.measure("wait_ms") if told is None else told


def _why_safe(rows: Sequence[TrialRow], shown: Count) -> list[str]:
    told = [f"two holders in {shown.words}"]
    if why := pinned(rows):
        told.append(why)
    return told


def _why_unsafe(rows: Sequence[TrialRow], stale_with: Count, has_token: bool) -> list[str]:
    overlaps = [row.overlap_ms for row in rows if row.overlap_ms]
    told = [f"two holders for {statistics.median(overlaps):,.0f} ms (median)"] if overlaps else []
    if not has_token:
        fenced = f": {stale_with.words} late writes accepted with the fence on" if stale_with.of else ""
        told.append(f"no token, so that a fence has nothing to compare{fenced}")
    elif stale_with.seen:
        told.append(f"late writes accepted with the fence on {stale_with.words}")
        unseen = sum(
            write.accepted is True and not write.by_token
            for row in rows
            if row.fence
            for write in row.checked.stale_writes
        )
        if unseen:
            told.append(f"{unseen} of them came before the new holder's first write, where no fence can see them")
    elif not stale_with.of:
        told.append("no late write met a fence here")
    return told
