"""The clock an adapter reads: monotonic for leases and waits, wall only where an algorithm leans on it."""

import time
from typing import Protocol

# The servers' time goes on while a client's machine is suspended. CLOCK_MONOTONIC stands still then (clock_gettime(2)),
# and a lease judged by it would seem to have time left after another client was granted the lock. Elsewhere than on
# Linux, time.monotonic_ns is what there is; macOS counts suspension in it.
_COUNTS_SUSPENSION = getattr(time, "CLOCK_BOOTTIME", None)


class Clock(Protocol):
    """What an adapter may know of time. Tests inject one that jumps or stands still."""

    def monotonic_ns(self) -> int:
        """Never set back, at an even pace, and counting the time for which the machine is suspended."""
        ...

    def wall_ns(self) -> int: ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks. `sleep` is looked up at call time, so gevent's patch is honoured."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns() if _COUNTS_SUSPENSION is None else time.clock_gettime_ns(_COUNTS_SUSPENSION)

    def wall_ns(self) -> int:
        return time.time_ns()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # pace: the caller's wait strategy asked for exactly this pause


SYSTEM_CLOCK = SystemClock()
