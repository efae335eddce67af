"""What a live page shows of the last seconds: the measures of a run's tables, of a stretch that moves on."""

from dataclasses import replace

import numpy as np

from bench.analysis.contention.fairness import longest_streak
from bench.analysis.contention.hand_offs import hand_offs, queue_waits
from bench.analysis.contention.queues import joined, queues
from bench.analysis.holds import RunEvents, overlaps
from bench.analysis.quantiles import carried_quantiles_us

_FOR_EVER = 1 << 62
BUSIEST_KEYS = 100  # hand-offs are of so many
_Hold = tuple[int, int, int]  # client, key, and when it was granted
_LATENCIES = ("p50", "p99", "p999")
_WAITS = ("p50", "p99")


def latencies(events: RunEvents, since_ns: int) -> dict[str, float]:
    """Of the locks granted from `since_ns` on, by the names of metrics. Left out is what so few do not tell."""
    recent = events.holds.acquired_ns >= since_ns
    took_ns = (events.holds.acquired_ns - events.holds.intended_ns)[recent]
    return carried_quantiles_us("acquire_us", took_ns, _LATENCIES)


def hand_overs(events: RunEvents, since_ns: int) -> dict[str, float]:
    """Likewise, of keys that clients share; `events` reach further back, to whoever had a key before."""
    of_keys = list(queues(_busiest(events), (since_ns, _FOR_EVER)))
    handed = joined(one.changed_ns for one in map(hand_offs, of_keys) if one is not None)
    if not len(handed):
        return {}
    found = carried_quantiles_us("hand_off_us", handed, _WAITS)
    found |= carried_quantiles_us("queue_wait_us", joined(map(queue_waits, of_keys)), _WAITS)
    return found | {"longest_streak": max(map(longest_streak, of_keys))}


def _busiest(events: RunEvents) -> RunEvents:
    keys, grants = np.unique(events.holds.key, return_counts=True)
    if len(keys) <= BUSIEST_KEYS:
        return events
    return replace(
        events, holds=events.holds.where(np.isin(events.holds.key, keys[np.argsort(grants)[-BUSIEST_KEYS:]]))
    )


def double_holds(events: RunEvents) -> set[_Hold]:
    """The holds that began while another client still had their key."""
    which = np.flatnonzero(overlaps(events.holds))
    columns = (events.holds.client, events.holds.key, events.holds.acquired_ns)
    return set(zip(*(column[which].tolist() for column in columns), strict=True))
