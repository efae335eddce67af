"""A client's clock for tests: time passes only while somebody sleeps, or a script says so."""


class SteppingClock:
    """Monotonic; whoever asks for the time of day fails the test."""

    def __init__(self) -> None:
        self.now_ns = 0

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        raise AssertionError("neither a wait nor its safety has a use for the wall clock")

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
