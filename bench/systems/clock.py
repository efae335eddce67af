"""The clock an adapter reads: monotonic for leases and waits, wall only where an algorithm leans on it."""

import time
from typing import Protocol


class Clock(Protocol):
    """What an adapter may know of time. Tests inject one that jumps or stands still."""

    def monotonic_ns(self) -> int: ...

    def wall_ns(self) -> int: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks. `sleep` is looked up at call time, so gevent's patch is honoured."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # pace: the caller's wait strategy asked for exactly this pause


SYSTEM_CLOCK = SystemClock()
