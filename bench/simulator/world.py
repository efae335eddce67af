"""The virtual clock, its queue of events, and wall clocks that may be wrong."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

NS_PER_MS = 1_000_000
_Do = Callable[..., object]


class World:
    """Things happen in the order of their instants; of equal instants, in the order in which they were arranged."""

    __slots__ = ("_count", "_queue", "now_ns")

    def __init__(self) -> None:
        self.now_ns = 0
        self._count = 0
        self._queue: list[tuple[int, int, _Do, tuple[Any, ...]]] = []

    def at(self, instant_ns: int, do: _Do, *what: Any) -> None:
        """Arrange for something to happen at an instant."""
        self._count += 1
        heappush(self._queue, (instant_ns, self._count, do, what))

    def run(self, until_ns: int) -> None:
        """Let everything happen up to an instant, that one included."""
        queue = self._queue
        while queue and queue[0][0] <= until_ns:
            self.now_ns, _, do, what = heappop(queue)
            do(*what)
        self.now_ns = until_ns

    def run_while(self, waiting: Callable[[], bool], until_ns: int) -> bool:
        """Let things happen until nobody waits any more. False: that did not come about by `until_ns`."""
        queue = self._queue
        while waiting():
            if not queue or queue[0][0] > until_ns:
                self.now_ns = until_ns
                return False
            self.now_ns, _, do, what = heappop(queue)
            do(*what)
        return True


class WallClock:
    """Shows the true time, off by some and running fast by some."""

    def __init__(self) -> None:
        self._step_ns, self._rate, self._since_ns = 0, 0.0, 0

    def at(self, true_ns: int) -> int:
        """What it shows at a true instant."""
        if self._rate:
            return true_ns + self._step_ns + int((true_ns - self._since_ns) * self._rate)
        return true_ns + self._step_ns

    def step(self, by_ns: int) -> None:
        """Set it ahead, or back."""
        self._step_ns += by_ns

    def drift(self, rate: float, from_ns: int) -> None:
        """Let it gain this part of the time that passes."""
        self._rate, self._since_ns = rate, from_ns

    def put_right(self) -> None:
        """The true time again."""
        self._step_ns, self._rate = 0, 0.0
