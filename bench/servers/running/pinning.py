"""Processors of their own for the load generator and for the servers, so that runs do not differ by where the scheduler
happened to put a client and its server: on one processor or on two, which doubles a latency of 12 µs.

The generator gets as many as it has processes, the servers get the others, and sets that are up but idle are there too.
An ensemble with more nodes than that is not pinned: on two processors, three nodes or more had to share one, and the
runs of one client were found machine-bound, which they were not where the nodes could use the idle client's as well.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.servers.process import family

NOT_PINNED = "not pinned"
NOT_OURS = "not processes of ours"


@dataclass(frozen=True, slots=True)
class Placement:
    """Which processors belong to whom. Both have all where nothing is pinned."""

    generator: frozenset[int]
    servers: frozenset[int]

    @property
    def pinned(self) -> bool:
        return self.generator != self.servers

    def words(self, servers_are_ours: bool) -> dict[str, str]:
        """For the record."""
        if not self.pinned:
            return {"generator": NOT_PINNED, "servers": NOT_PINNED}
        return {
            "generator": numbers(self.generator),
            "servers": numbers(self.servers) if servers_are_ours else NOT_OURS,
        }


def place(pinned: bool, processes: int, nodes: int = 1, processors: Collection[int] | None = None) -> Placement:
    """Share out the processors that this process may use between load processes and the nodes that they ask.

    With a single processor there is nothing to share out, and with fewer than nodes sharing out does harm.
    """
    usable = sorted(os.sched_getaffinity(0) if processors is None else processors)
    ours = max(1, min(processes, len(usable) - 1))
    if not pinned or len(usable) < 2 or nodes > max(1, len(usable) - ours):
        return Placement(frozenset(usable), frozenset(usable))
    return Placement(frozenset(usable[:ours]), frozenset(usable[ours:]))


def numbers(processors: Iterable[int]) -> str:
    """0,1,2"""
    return ",".join(map(str, sorted(processors)))


def pin(pids: Iterable[int], processors: Collection[int]) -> None:
    """Keep processes, everything below them, and all their threads on these processors.

    A thread or child that is made later inherits the place of who made it.
    """
    for pid in pids:
        for process in family(pid):
            for thread in _threads(process.pid):
                try:
                    os.sched_setaffinity(thread, processors)
                except ProcessLookupError:
                    continue  # it has ended since


def places(pids: Iterable[int]) -> Mapping[int, set[int]]:
    """Where each process may run now, to put it back later."""
    found = {}
    for pid in pids:
        try:
            found[pid] = os.sched_getaffinity(pid)
        except ProcessLookupError:
            continue
    return found


def _threads(pid: int) -> list[int]:
    try:
        return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
