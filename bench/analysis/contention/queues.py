"""Each key's requests and grants, in order: what hand-offs, fairness and the fair queue's wait are computed from.

Of all operations that overlap the window, and not only of those that began in it: where a queue is unfair, requests
from before the window are granted in it, and between two grants of the window's own requests lie others. What counts
are the grants that were answered within the window.

Instants are monotonic ns of one machine's clock, read by the clients. A request waits from its start until its answer,
whatever that is; a key is free again when its release is *answered*, which is when the releaser knows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bench.analysis.holds import Column, Refused, RunEvents

Mask = npt.NDArray[np.bool_]
_EMPTY: Column = np.zeros(0, dtype=np.int64)
EVER = (-(1 << 62), 1 << 62)  # a window that everything lies in


@dataclass(frozen=True, slots=True)
class Queue:
    """One key. Grants are in the order of their answers; `refused_*` are the requests that got none, in any order.

    `intended_ns` is when the schedule wanted a request (its start, in a closed loop). `freed_ns` is None where the
    record has no instant at which a release was answered.
    """

    client: Column
    intended_ns: Column
    started_ns: Column
    acquired_ns: Column
    freed_ns: Column | None
    refused_started_ns: Column
    refused_ns: Column
    counts: Mask  # of the grants

    def __len__(self) -> int:
        return len(self.client)

    @property
    def changed(self) -> Mask:
        """For each grant but the first: did another client have the key before?"""
        changed: Mask = self.client[1:] != self.client[:-1]
        return changed

    def waiting_at(self, instants_ns: Column) -> Column:
        """How many requests had started, and were not answered, at each instant."""
        started = np.sort(np.concatenate((self.started_ns, self.refused_started_ns)))
        answered = np.sort(np.concatenate((self.acquired_ns, self.refused_ns)))
        waiting: Column = np.searchsorted(started, instants_ns, "right") - np.searchsorted(
            answered, instants_ns, "right"
        )
        return waiting


def with_starved(events: RunEvents, clients: int, window_ns: tuple[int, int] = EVER) -> RunEvents:
    """The same, with the requests of clients that have no event: they waited from before the window until after it.

    Of a closed loop on one key. Of their wait no more is known than that it lasted as long as the window.
    """
    missing = events.starved(clients)
    holds, refused = events.holds, events.refused
    if not missing or not len(holds):
        return events
    begin_ns = max(window_ns[0], int(holds.started_ns.min())) - 1
    end_ns = min(window_ns[1], int(holds.held_until_ns.max())) + 1
    return replace(
        events,
        refused=Refused(
            np.append(refused.key, np.full(missing, holds.key[0])),
            np.append(refused.intended_ns, np.full(missing, begin_ns)),
            np.append(refused.started_ns, np.full(missing, begin_ns)),
            np.append(refused.answered_ns, np.full(missing, end_ns)),
        ),
    )


def queues(events: RunEvents, window_ns: tuple[int, int] = EVER) -> Iterator[Queue]:
    """The queue of each key that was granted at all."""
    holds, refused = events.holds, events.refused
    for key in np.unique(holds.key):
        first, last = np.searchsorted(holds.key, [key, key + 1])
        mine = refused.key == key
        part = slice(first, last)
        yield Queue(
            holds.client[part],
            holds.intended_ns[part],
            holds.started_ns[part],
            holds.acquired_ns[part],
            holds.freed_ns[part] if len(holds.freed_ns) else None,
            refused.started_ns[mine],
            refused.answered_ns[mine],
            (holds.acquired_ns[part] >= window_ns[0]) & (holds.acquired_ns[part] < window_ns[1]),
        )


def joined(parts: Iterator[Column]) -> Column:
    """All keys' values together."""
    return np.concatenate([_EMPTY, *parts])
