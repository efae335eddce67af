"""When a client means to start its next operation."""

from typing import Protocol


class Schedule(Protocol):
    """Asked once before each operation of one client."""

    def next_ns(self) -> int | None:
        """Wait until the next operation is due and return its intended start (monotonic ns); None: due at any time."""


class ClosedLoop:
    """The next operation starts when the last one has ended: what contention and saturation need.

    There is no intention apart from the start, so intended and started are one instant, and a server that stalls is
    asked less often while it does (coordinated omission). Latency at a given rate needs an open loop instead.
    """

    def next_ns(self) -> int | None:
        """Due at once."""
        return None
