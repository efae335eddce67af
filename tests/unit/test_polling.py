"""The wait by asking again, on a clock that moves only when it is told to."""

from collections.abc import Callable

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.polling import ask_until
from bench.systems.redlock.answers import Answers, Silence
from bench.systems.redlock.lock import _valid_ns
from bench.systems.wait import Wait

BUSY = Refusal(Outcome.BUSY, "held")
ERROR = Refusal(Outcome.ERROR, "down")
GRANT = Grant("k", "o", 1, 1000, None)
POLL = Wait.parse("poll-10ms")


class StillClock:
    """Time passes in sleeps only."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.sleeps_ms: list[float] = []

    def monotonic_ns(self) -> int:
        return self.now_ns

    def wall_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.sleeps_ms.append(round(seconds * 1000, 6))
        self.now_ns += round(seconds * 1e9)


def answering(*answers: Grant | Refusal) -> Callable[[], Grant | Refusal]:
    left = list(answers)
    return lambda: left.pop(0)


def test_try_asks_once() -> None:
    clock = StillClock()
    assert ask_until(clock, Wait("try"), 1000, answering(BUSY)) is BUSY
    assert not clock.sleeps_ms


def test_poll_asks_until_it_is_granted() -> None:
    clock = StillClock()
    assert ask_until(clock, POLL, 1000, answering(BUSY, BUSY, GRANT)) is GRANT
    assert clock.sleeps_ms == [10, 10]


def test_the_last_attempt_is_at_the_end_of_the_time() -> None:
    clock = StillClock()
    answer = ask_until(clock, POLL, 25, answering(BUSY, BUSY, BUSY, BUSY))
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.TIMEOUT
    assert clock.sleeps_ms == [10, 10, 5]


def test_a_poll_without_time_asks_once() -> None:
    answer = ask_until(StillClock(), POLL, 0, answering(BUSY))
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.TIMEOUT


def test_an_error_ends_the_wait_unless_the_system_goes_on() -> None:
    assert ask_until(StillClock(), POLL, 1000, answering(BUSY, ERROR)) is ERROR
    go_on = frozenset({Outcome.BUSY, Outcome.ERROR})
    assert ask_until(StillClock(), POLL, 1000, answering(ERROR, GRANT), go_on) is GRANT
    assert ask_until(StillClock(), POLL, 10, answering(BUSY, ERROR), go_on) is ERROR


def test_redlock_validity_is_the_ttl_less_one_percent_and_two_milliseconds() -> None:
    assert _valid_ns(10_000) == 9_898_000_000
    assert _valid_ns(2) < 0


def test_answers_are_told_apart() -> None:
    answers = Answers({0: b"OK", 1: None, 2: Silence.LATE, 3: Silence.HELD_BACK, 4: Silence.UNREACHED})
    assert (answers.giving(b"OK"), answers.giving(None), answers.giving(0)) == ([0], [1], [])
    assert answers.owing() == [2, 3]
    assert answers.silent() == [2, 3, 4]
    assert answers.replies() == 2
    addresses = {node: f"n{node}" for node in range(5)}
    assert answers.describe(addresses, {4: "refused"}) == (
        ", n2 late, n3 silent since a command before, n4 not reached (refused)"
    )
