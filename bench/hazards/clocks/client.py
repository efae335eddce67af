"""A client's clock whose wall time can be set wrong."""

from bench.systems.clock import SYSTEM_CLOCK, Clock


class ShiftedClock:
    """A `Clock` for `ClientOptions`: `base` with another wall time. May be stepped while its client is at work."""

    def __init__(self, offset_ms: float = 0.0, base: Clock = SYSTEM_CLOCK) -> None:
        self._base = base
        self.step(offset_ms)

    @property
    def offset_ms(self) -> float:
        """How far the wall time is ahead of the base's."""
        return self._offset_ns / 1e6

    def step(self, offset_ms: float) -> None:
        """Set the whole offset from the base's wall time; not added to what was set before."""
        self._offset_ns = round(offset_ms * 1e6)

    def back(self) -> None:
        self.step(0.0)

    def monotonic_ns(self) -> int:
        return self._base.monotonic_ns()

    def wall_ns(self) -> int:
        return self._base.wall_ns() + self._offset_ns

    def sleep(self, seconds: float) -> None:
        self._base.sleep(seconds)
