"""A client's clock that is set wrong: its wall time only, and the lock that leans on it."""

from bench.hazards.clocks.client import ShiftedClock
from bench.systems.base import ClientOptions


class StillClock:
    """Stands at one second of each clock; keeps what it was asked to sleep."""

    slept = 0.0

    def monotonic_ns(self) -> int:
        return 1_000_000_000

    def wall_ns(self) -> int:
        return 1_000_000_000

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def test_only_the_wall_time_is_shifted() -> None:
    base = StillClock()
    clock = ShiftedClock(250.5, base)
    assert clock.wall_ns() == 1_250_500_000
    assert clock.monotonic_ns() == 1_000_000_000
    clock.sleep(1.5)
    assert base.slept == 1.5


def test_a_step_sets_the_whole_offset_and_back_takes_it_away() -> None:
    clock = ShiftedClock(base=StillClock())
    assert clock.offset_ms == 0.0
    clock.step(10_000.0)
    clock.step(-400.25)
    assert clock.offset_ms == -400.25
    assert clock.wall_ns() == 599_750_000
    clock.back()
    assert clock.wall_ns() == 1_000_000_000


def test_it_is_a_clock_for_clients() -> None:
    clock = ShiftedClock(1.0)
    assert ClientOptions(clock=clock).clock is clock
