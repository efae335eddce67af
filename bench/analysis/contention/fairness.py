"""Fairness: who was served, in what order, and who paid for it."""

from collections.abc import Sequence

import numpy as np

from bench.analysis.contention.queues import Mask, Queue
from bench.analysis.holds import Column


def overtook(queue: Queue) -> Mask:
    """For each grant: did its client overtake one who had waited longer, as far as the record can prove it?

    A client was overtaken if it had asked before some grant, and the overtaker asked only after that: between the two
    requests lies a whole grant, so no queue that serves in order can have mixed them up on their way. What is closer
    than that the clients' clocks cannot tell.
    """
    started_ns = np.concatenate((queue.started_ns, queue.refused_started_ns))
    answered_ns = np.concatenate((queue.acquired_ns, queue.refused_ns))
    order = np.argsort(started_ns)
    # Of all who asked before an instant, the last to be answered; nobody: before everything.
    last_ns = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(answered_ns[order])))
    grants_before = np.searchsorted(queue.acquired_ns, queue.started_ns, "right")
    boundary_ns = queue.acquired_ns[np.maximum(0, grants_before - 1)]
    asked_before = np.searchsorted(started_ns[order], boundary_ns, "left")
    found: Mask = (grants_before > 0) & (last_ns[asked_before] > queue.acquired_ns)
    return found


def longest_streak(queue: Queue) -> int:
    """The most grants in a row to one client, of those that count; 0 where there is none."""
    client = queue.client[queue.counts]  # next to each other in the order of answers, as the window is one
    if not len(client):
        return 0
    first = np.flatnonzero(np.append(True, client[1:] != client[:-1]))
    return int(np.diff(np.append(first, len(client))).max())


def jain_index(shares: Sequence[float]) -> float | None:
    """1 where all got the same, 1/n where one got everything; None where nobody got anything.

    Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource allocation in shared
    computer systems", DEC-TR-301, 1984.
    """
    values = np.asarray(shares, dtype=np.float64)
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else None


def wait_by_time_ns(waits_ns: Column) -> float | None:
    """The mean wait as an instant of waiting sees it, long waits weighing more: sum of squares by sum."""
    total = float(waits_ns.sum())
    return float((waits_ns.astype(np.float64) ** 2).sum()) / total if total > 0 else None
