"""Which operations count: those that start, or were meant to, between opening and closing of the measured window."""

NEVER_NS = (1 << 63) - 1


class Window:
    """Two instants on the monotonic clock, in nanoseconds; shut until `open` is called.

    An operation belongs to the window when it *starts* in it, whenever it ends; in an open loop, when it was *meant* to
    start in it, whenever it did. Counting by end would let a system hide
    its slowest waits behind the last instant, and would count waits that began in the warm-up. The other side of this
    choice is that somebody has to wait for those that started late: see `LoadProcess`.
    """

    __slots__ = ("closes_ns", "opens_ns")

    def __init__(self) -> None:
        self.opens_ns = NEVER_NS
        self.closes_ns = NEVER_NS

    def open(self, opens_ns: int, length_ns: int | None) -> None:
        """Count from `opens_ns` on; None as the length: until the test is stopped."""
        self.opens_ns = opens_ns
        self.closes_ns = NEVER_NS if length_ns is None else opens_ns + length_ns

    def counts(self, instant_ns: int) -> bool:
        """Does an operation of this instant belong to the window?"""
        return self.opens_ns <= instant_ns < self.closes_ns
