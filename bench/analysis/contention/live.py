"""What a live page shows of the last seconds: the measures of a run's tables, of a stretch that moves on."""

from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from bench.analysis.contention.fairness import longest_streak
from bench.analysis.contention.hand_offs import hand_offs, queue_waits
from bench.analysis.contention.queues import joined, queues
from bench.analysis.holds import Column, Holds, RunEvents, overlaps
from bench.analysis.quantiles import FRACTIONS, carries, nearest_rank

_FOR_EVER = 1 << 62
BUSIEST_KEYS = 100  # hand-offs are of so many
_Hold = tuple[int, int, int]  # client, key, and when it was granted
_LATENCIES = ("p50", "p99", "p999")
_WAITS = ("p50", "p99")


def latencies(events: RunEvents, since_ns: int) -> dict[str, float]:
    """Of the locks granted from `since_ns` on, by the names of metrics. Left out is what so few do not tell."""
    recent = events.holds.acquired_ns >= since_ns
    return dict(_quantiles("acquire_us", (events.holds.acquired_ns - events.holds.intended_ns)[recent], _LATENCIES))


def hand_overs(events: RunEvents, since_ns: int) -> dict[str, float]:
    """Likewise, of keys that clients share; `events` reach further back, to whoever had a key before."""
    of_keys = list(queues(_busiest(events), (since_ns, _FOR_EVER)))
    handed = joined(one.changed_ns for one in map(hand_offs, of_keys) if one is not None)
    if not len(handed):
        return {}
    found = dict(_quantiles("hand_off_us", handed, _WAITS))
    found |= _quantiles("queue_wait_us", joined(map(queue_waits, of_keys)), _WAITS)
    return found | {"longest_streak": max(map(longest_streak, of_keys))}


def _busiest(events: RunEvents) -> RunEvents:
    keys, grants = np.unique(events.holds.key, return_counts=True)
    if len(keys) <= BUSIEST_KEYS:
        return events
    chosen = np.isin(events.holds.key, keys[np.argsort(grants)[-BUSIEST_KEYS:]])
    columns = (getattr(events.holds, one.name) for one in fields(Holds))
    return replace(events, holds=Holds(*(column[chosen] if len(column) else column for column in columns)))


def double_holds(events: RunEvents) -> set[_Hold]:
    """The holds that began while another client still had their key."""
    which = np.flatnonzero(overlaps(events.holds))
    columns = (events.holds.client, events.holds.key, events.holds.acquired_ns)
    return set(zip(*(column[which].tolist() for column in columns), strict=True))


def _quantiles(name: str, values_ns: Column, of: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    for quantile in of:
        if carries(len(values_ns), FRACTIONS[quantile]):
            yield f"{name}_{quantile}", float(nearest_rank(values_ns, FRACTIONS[quantile])) / 1e3
