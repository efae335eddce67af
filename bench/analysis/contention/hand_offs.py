"""Hand-offs: from one client's release being answered to the next grant being answered.

Only where somebody waited when the key became free: else the gap is nobody's. A grant that changed hands is separate
from one that did not, since a releaser that wins again hands nothing over. A hand-off may be negative: a server that
tells the next client before it answers the releaser is faster than the releaser can know.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.analysis.contention.queues import Queue
from bench.analysis.holds import Column


class HandOffs(NamedTuple):
    """In ns, of the grants before which the key was waited for."""

    changed_ns: Column  # to another client, which had asked before the key was free
    kept_ns: Column  # to the releaser itself, past those who waited


def hand_offs(queue: Queue) -> HandOffs | None:
    """None where the record does not say when releases were answered."""
    if queue.freed_ns is None or len(queue) < 2:
        return None
    free_ns, changed = queue.freed_ns[:-1], queue.changed
    took_ns = queue.acquired_ns[1:] - free_ns
    # A grant answered before the release was: it waited, however late the releaser learnt that it had let go.
    asked_before = queue.started_ns[1:] <= np.minimum(free_ns, queue.acquired_ns[1:])
    waited_for = queue.waiting_at(free_ns) > 0
    counts = queue.counts[1:]
    return HandOffs(took_ns[changed & asked_before & counts], took_ns[~changed & waited_for & counts])


def queue_waits(queue: Queue) -> npt.NDArray[np.int64]:
    """For each grant that counts, but the key's first: how long its client had waited, from when it was meant to ask,
    until the key was free. In ns; empty where the record does not say when that was."""
    if queue.freed_ns is None:
        return np.zeros(0, dtype=np.int64)
    free_ns = np.minimum(queue.freed_ns[:-1], queue.acquired_ns[1:])
    waits: npt.NDArray[np.int64] = np.maximum(0, free_ns - queue.intended_ns[1:])[queue.counts[1:]]
    return waits
