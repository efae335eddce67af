"""What only the events of a run tell: who got the lock next, how long that took, and how many stalls a percentile is.

Computed once, at the end of a run, and kept in its record: events may be left out of what is committed.
"""

import numpy as np
import numpy.typing as npt

from bench.analysis.contention.measures import CONTENTION, contention
from bench.analysis.contention.strangers import populations
from bench.analysis.holds import Column, Holds, RunEvents
from bench.analysis.quantiles import FRACTIONS, carries, nearest_rank
from bench.records.schema import STRANGERS, RunPlan
from bench.records.workload import JOBS

_HANDED_WAITS = {f"handed_wait_us_{quantile}": FRACTIONS[quantile] for quantile in ("p50", "p99")}
_STALLS = {f"stalls_{quantile}": FRACTIONS[quantile] for quantile in ("p99", "p999")}
FROM_EVENTS = ("changed_hands_share", "longest_streak", *_HANDED_WAITS, *_STALLS, *CONTENTION)  # names of metrics
STRANGERS_STALLS = f"{STRANGERS}stalls_p99"  # likewise, of runs with strangers alone


def from_events(
    plan: RunPlan, events: RunEvents, whole: RunEvents | None = None, window_ns: tuple[int, int] | None = None
) -> dict[str, float]:
    """By the names of metrics. Left out is what does not apply, or what so few operations do not tell.

    `whole`: with the operations around the window, whose instants are then needed. Without them nothing is said of
    waiting: between two recorded grants there may have been others.
    """
    found: dict[str, float] = {}
    meeting, strangers = populations(plan.workload, events)
    # Without shared keys none has ever had another client; a job does not say when it held something.
    if plan.workload.keys and plan.workload.name not in JOBS:
        found |= _handing(meeting.holds)
        if whole is not None and window_ns is not None:
            found |= contention(plan.workload, populations(plan.workload, whole).meeting, window_ns)
    found |= _stalls(meeting)
    if strangers is not None and (count := _stalls(strangers).get("stalls_p99")) is not None:
        found[STRANGERS_STALLS] = count
    return found


def _stalls(events: RunEvents) -> dict[str, float]:
    return {
        name: float(stalls(events.intended_ns, events.latency_ns, fraction))
        for name, fraction in _STALLS.items()
        if carries(len(events.latency_ns), fraction)
    }


def _handing(holds: Holds) -> dict[str, float]:
    had_one, changed = changed_hands(holds)
    if not had_one.any():
        return {}
    found = {
        "changed_hands_share": float(changed.sum() / had_one.sum()),
        "longest_streak": float(longest_streak(holds)),
    }
    waits_ns = (holds.acquired_ns - holds.started_ns)[changed]
    for name, fraction in _HANDED_WAITS.items():
        if carries(len(waits_ns), fraction):
            found[name] = float(nearest_rank(waits_ns, fraction)) / 1e3
    return found


def changed_hands(holds: Holds) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each hold: did anybody have its key before, and was that another client?"""
    had_one = np.zeros(len(holds), dtype=np.bool_)
    had_one[1:] = holds.key[1:] == holds.key[:-1]
    changed = had_one.copy()
    changed[1:] &= holds.client[1:] != holds.client[:-1]
    return had_one, changed


def longest_streak(holds: Holds) -> int:
    """The most grants of one key in a row to one client; 0 where there is no grant."""
    if not len(holds):
        return 0
    had_one, changed = changed_hands(holds)
    first = np.flatnonzero(~had_one | changed)
    return int(np.diff(np.append(first, len(holds))).max())


def stalls(began_ns: Column, took_ns: Column, fraction: float) -> int:
    """How many separate events the operations at and above a quantile are.

    Slow operations that overlap waited for one and the same thing, most likely. So did those that follow each other
    within the length of the stall so far: what ended one of them kept others from starting. As independent evidence of
    how often the system is slow they count once.
    """
    slow = took_ns >= nearest_rank(took_ns, fraction)
    order = np.argsort(began_ns[slow], kind="stable")
    begins_ns, lengths_ns = began_ns[slow][order], took_ns[slow][order]
    ends_ns = np.maximum.accumulate(begins_ns + lengths_ns)
    # What overlaps is one stretch, found for all at once: where all operations are alike, all are among the slowest.
    first = np.flatnonzero(np.concatenate(([True], begins_ns[1:] > ends_ns[:-1])))
    longest_ns = np.maximum.reduceat(lengths_ns, first)
    gaps_ns = begins_ns[first[1:]] - ends_ns[first[1:] - 1]
    count, so_far_ns = 1, int(longest_ns[0])
    for gap_ns, length_ns in zip(gaps_ns.tolist(), longest_ns[1:].tolist(), strict=True):
        joined = gap_ns <= so_far_ns
        count += not joined
        so_far_ns = max(so_far_ns, length_ns) if joined else length_ns
    return count
