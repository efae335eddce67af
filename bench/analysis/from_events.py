"""What only the events of a run tell: who got the lock next, how long that took, and how many stalls a percentile is.

Computed once, at the end of a run, and kept in its record: events may be left out of what is committed.
"""

import numpy as np

from bench.analysis.contention.measures import CONTENTION, HANDING, contention, handing
from bench.analysis.contention.queues import queues
from bench.analysis.contention.strangers import populations
from bench.analysis.holds import Column, RunEvents
from bench.analysis.quantiles import FRACTIONS, carries, nearest_rank
from bench.records.schema import STRANGERS, RunPlan
from bench.records.workload import JOBS

_STALLS = {f"stalls_{quantile}": FRACTIONS[quantile] for quantile in ("p99", "p999")}
FROM_EVENTS = (*HANDING, *_STALLS, *CONTENTION)  # names of metrics
STRANGERS_STALLS = f"{STRANGERS}stalls_p99"  # likewise, of runs with strangers alone


def from_events(
    plan: RunPlan, events: RunEvents, whole: RunEvents | None = None, window_ns: tuple[int, int] | None = None
) -> dict[str, float]:
    """By the names of metrics. Left out is what does not apply, or what so few operations do not tell.

    `whole`: with the operations around the window, whose instants are then needed. Without them, as in older records,
    nothing is said of waiting: between two recorded grants there may have been others. Who got the key next is then
    told as if the window's own grants had followed each other, which all but a few at its ends did.
    """
    found: dict[str, float] = {}
    meeting, strangers = populations(plan.workload, events)
    # Without shared keys none has ever had another client; a job does not say when it held something.
    if plan.workload.keys and plan.workload.name not in JOBS:
        if whole is None or window_ns is None:
            found |= handing(queues(meeting))
        else:
            everybody = populations(plan.workload, whole).meeting
            found |= handing(queues(everybody, window_ns))
            found |= contention(plan.workload, everybody, window_ns)
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
