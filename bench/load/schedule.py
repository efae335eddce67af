"""When operations are meant to start: in a closed loop as soon as a client is free, in an open loop at seeded instants.

An open loop asks at a rate of its own, whatever the system answers: latency counts from the intended instant, so a
system that stands still for a second is charged for every operation that would have come in that second. (A closed loop
asks less often while it waits, and forgets those: "coordinated omission".)
"""

import random
from collections.abc import Iterator, Mapping
from itertools import count, takewhile
from time import monotonic_ns
from typing import NamedTuple, Protocol

from bench.load.window import NEVER_NS, Window

_NS_PER_S = 1e9


class Schedule(Protocol):
    """Asked once before each operation of one client."""

    def claim_ns(self) -> int | None:
        """Take the next operation and return when it is meant to start (monotonic ns); None: as soon as possible."""


class ClosedLoop:
    """The next operation starts when the last one has ended: what contention and saturation need.

    There is no intention apart from the start, so intended and started are one instant.
    """

    def claim_ns(self) -> int | None:
        """Due at once."""
        return None


def offsets_ns(arrivals: str, rate_per_s: float, seed: int) -> Iterator[int]:
    """Instants of all arrivals, in ns from the start of the schedule; without end.

    `poisson`: independent exponential gaps, as from many users who do not know of each other. `uniform`: equal gaps
    with a seeded phase, so that they fall on no edge of the window. The same seed gives the same instants, on any
    system and in any process.
    """
    dice = random.Random(f"{seed}/arrivals")
    gap_ns = _NS_PER_S / rate_per_s
    if arrivals == "uniform":
        phase = dice.random()
        yield from (round((number + phase) * gap_ns) for number in count())
    at_ns = 0.0
    while True:
        at_ns += dice.expovariate(1.0) * gap_ns
        yield round(at_ns)


def count_between(offsets: Iterator[int], from_ns: int, until_ns: int) -> int:
    """How many of a schedule's arrivals fall into [from_ns, until_ns)."""
    return sum(offset >= from_ns for offset in takewhile(lambda offset: offset < until_ns, offsets))


class Share(NamedTuple):
    """Which arrivals of the one schedule belong to a process: those whose number, modulo `of`, is in [first, last).

    All processes know the whole schedule and each takes its part, so what they send together is the schedule itself,
    not a sum of several, however many processes there are.
    """

    first: int = 0
    last: int = 1
    of: int = 1

    @classmethod
    def by_clients(cls, clients: Mapping[str, int], node: str) -> "Share":
        """In proportion to the clients of each process. A process that is not named has no share."""
        first = 0
        for name in sorted(clients):
            if name == node:
                return cls(first, first + clients[name], sum(clients.values()))
            first += clients[name]
        return cls(0, 0, max(1, first))

    def owns(self, number: int) -> bool:
        """Is the arrival of this number ours?"""
        return self.first <= number % self.of < self.last

    def of_all(self, offsets: Iterator[int]) -> Iterator[int]:
        """Of the arrivals of the whole schedule, ours."""
        if self.last == self.first:
            return iter(())
        return (offset for number, offset in enumerate(offsets) if self.owns(number))


class OpenLoop:
    """The arrivals of one process, in order, each claimed by the first client that is free.

    Clients wait for their arrival after they have claimed it. So an arrival is late only when every client is busy, as
    with a queue before a pool of workers, and no process of its own hands them out.

    Nothing is forgotten: what the window's end finds unclaimed is counted as `unsent`, and is not sent afterwards,
    since it could only be measured as the load falls. There is no other bound on how long an arrival may wait. What the
    *warm-up* leaves unclaimed is dropped when the window opens, so that the window does not begin in arrears.
    """

    def __init__(self, offsets: Iterator[int], share: Share, origin_ns: int, window: Window) -> None:
        self._due_ns: Iterator[int] = (origin_ns + offset for offset in share.of_all(offsets))
        self._window = window
        self._next_ns = next(self._due_ns, NEVER_NS)
        self._unsent = 0

    def claim_ns(self) -> int:
        """The next arrival that can still be sent. In a process without a share it never comes."""
        self._skip_past(monotonic_ns())
        claimed_ns, self._next_ns = self._next_ns, next(self._due_ns, NEVER_NS)
        return claimed_ns

    def take_unsent(self) -> int:
        """How many arrivals of the window nobody could send; the next call starts at zero. Ask after its end."""
        self._skip_past(monotonic_ns())
        unsent, self._unsent = self._unsent, 0
        return unsent

    def _skip_past(self, now_ns: int) -> None:
        window, next_ns = self._window, self._next_ns
        if now_ns < window.opens_ns or next_ns >= window.closes_ns:
            return
        while next_ns < window.opens_ns:
            next_ns = next(self._due_ns, NEVER_NS)
        if now_ns >= window.closes_ns:
            while next_ns < window.closes_ns:
                self._unsent += 1
                next_ns = next(self._due_ns, NEVER_NS)
        self._next_ns = next_ns
