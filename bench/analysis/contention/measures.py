"""What a run's events say about contention, by the names of metrics. Computed once, at the end of the run."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bench.analysis.contention.fair_queue import closed_wait_ns, replayed_waits_ns
from bench.analysis.contention.fairness import jain_index, longest_streak, overtook, wait_by_time_ns
from bench.analysis.contention.hand_offs import HandOffs, hand_offs, queue_waits
from bench.analysis.contention.queues import EVER, Queue, joined, queues, with_starved
from bench.analysis.holds import RunEvents
from bench.analysis.quantiles import carried_quantiles_us
from bench.records.workload import Workload

HANDING = ("changed_hands_share", "longest_streak", "handed_wait_us_p50", "handed_wait_us_p99")
HAND_OFFS = ("hand_off_us_mean", "hand_off_us_p50", "hand_off_us_p99", "kept_hand_off_us_p50")
QUEUE = (
    "queue_wait_us_mean",
    "queue_wait_us_p50",
    "queue_wait_us_p99",
    "fair_wait_us_mean",
    "fair_wait_us_p99",
    "wait_by_fair_p99",
    "key_utilisation",
)
FAIRNESS = ("overtaking_share", "jain_index", "clients_without_grant", "longest_wait_us", "wait_by_time_us")
CONTENTION = (*HAND_OFFS, *QUEUE, *FAIRNESS)  # names of metrics

_Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def handing(of_keys: Iterable[Queue]) -> dict[str, float]:
    """Who got each key next, and how long those had waited who took it over: of the grants that count.

    Left out where no key was granted twice.
    """
    all_queues = list(of_keys)
    after = [queue.counts[1:] for queue in all_queues]  # of the grants that somebody's grant went before
    changed = [queue.changed & counts for queue, counts in zip(all_queues, after, strict=True)]
    if not (had_one := sum(int(counts.sum()) for counts in after)):
        return {}
    waits_ns = joined((q.acquired_ns - q.started_ns)[1:][taken] for q, taken in zip(all_queues, changed, strict=True))
    return {
        "changed_hands_share": len(waits_ns) / had_one,
        "longest_streak": float(max(map(longest_streak, all_queues))),
        **_quantiles("handed_wait_us", waits_ns),
    }


def contention(workload: Workload, events: RunEvents, window_ns: tuple[int, int] = EVER) -> Mapping[str, float]:
    """Of a run whose clients share keys: of the grants answered within the window, among all that overlap it.

    `events` have those around the window too, and none of strangers. Left out is what older records lack, or what so
    few do not tell.
    """
    if workload.keys == 1 and not workload.open_loop:
        events = with_starved(events, workload.meeting_clients, window_ns)
    all_queues = [queue for queue in queues(events, window_ns) if queue.counts.any()]
    if not all_queues:
        return {}
    found = _fairness(workload, events, all_queues)
    handed = [one for one in map(hand_offs, all_queues) if one is not None]
    if handed:
        parts = HandOffs(*(np.concatenate(parts) for parts in zip(*handed, strict=True)))
        found |= _quantiles("hand_off_us", parts.changed_ns, mean=True)
        found |= _quantiles("queue_wait_us", np.concatenate([queue_waits(queue) for queue in all_queues]), mean=True)
        found |= _quantiles("kept_hand_off_us", parts.kept_ns)
        if len(all_queues) == 1 and len(parts.changed_ns):
            found |= _fair_queue(workload, events, all_queues[0], float(parts.changed_ns.mean()), window_ns)
            if found.get("fair_wait_us_p99") and "queue_wait_us_p99" in found:
                found["wait_by_fair_p99"] = found["queue_wait_us_p99"] / found["fair_wait_us_p99"]
    return {name: value for name, value in found.items() if name in CONTENTION}


def _fairness(workload: Workload, events: RunEvents, all_queues: Sequence[Queue]) -> dict[str, float]:
    overtaking = np.concatenate([overtook(queue)[queue.counts] for queue in all_queues])
    by_client = np.concatenate([queue.client[queue.counts] for queue in all_queues])
    granted = np.unique(by_client, return_counts=True)[1]  # numbers of clients have gaps between processes
    grants = np.append(granted, np.zeros(max(0, workload.meeting_clients - len(granted)), dtype=np.int64))
    holds, refused = events.holds, events.refused
    waits_ns = np.concatenate((holds.acquired_ns - holds.started_ns, refused.answered_ns - refused.started_ns))
    found: dict[str, float | None] = {
        "overtaking_share": float(overtaking.mean()),
        "jain_index": jain_index(grants.tolist()),
        "clients_without_grant": float((grants == 0).sum()),
        "longest_wait_us": float(waits_ns.max()) / 1e3,
        "wait_by_time_us": _us(wait_by_time_ns(waits_ns)),
    }
    return {name: value for name, value in found.items() if value is not None}


def _fair_queue(
    workload: Workload, events: RunEvents, queue: Queue, hand_off_ns: float, window_ns: tuple[int, int]
) -> dict[str, float]:
    assert queue.freed_ns is not None, "there are hand-offs"
    service_ns = float((queue.freed_ns - queue.acquired_ns)[queue.counts].mean()) + hand_off_ns
    found = {"key_utilisation": int(queue.counts.sum()) * service_ns / (workload.measure_s * 1e9)}
    if workload.open_loop:
        arrivals_ns = np.concatenate((queue.intended_ns, events.refused.intended_ns))
        within = (arrivals_ns >= window_ns[0]) & (arrivals_ns < window_ns[1])
        first = np.argmin(np.where(queue.intended_ns >= window_ns[0], queue.intended_ns, window_ns[1]))
        first_ns = queue.acquired_ns[first] - queue.intended_ns[first] - hand_off_ns
        waits_ns = replayed_waits_ns(arrivals_ns[within], service_ns, max(0.0, float(first_ns)))
        return found | _quantiles("fair_wait_us", waits_ns, mean=True)
    wait_us = closed_wait_ns(workload.meeting_clients, service_ns, workload.think_ms * 1e6) / 1e3
    return found | {"fair_wait_us_mean": wait_us, "fair_wait_us_p99": wait_us}


def _quantiles(name: str, values_ns: _Numbers, *, mean: bool = False) -> dict[str, float]:
    found = {f"{name}_mean": float(values_ns.mean()) / 1e3} if mean and len(values_ns) else {}
    return found | carried_quantiles_us(name, values_ns, ("p50", "p99"))


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1e3
