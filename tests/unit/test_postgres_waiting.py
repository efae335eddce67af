"""Waiting in slices, and for a notification: what is asked when, and what is left, against a script."""

from typing import Any, cast

import pytest

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.postgres_row.session import Session, SessionLost
from bench.systems.postgres_row.waiting import channel_of, until_granted
from bench.systems.wait import Wait
from tests.unit.stepping_clock import SteppingClock

GRANT = Grant("k", "o", 1, 1_000, None)
BUSY, TIMEOUT, ERROR = (Refusal(outcome, "") for outcome in (Outcome.BUSY, Outcome.TIMEOUT, Outcome.ERROR))
CALL_S = 2.0
LISTEN, UNLISTEN = 'LISTEN "lockbench_x"', "UNLISTEN *"


class FakeSession:
    """Takes statements; every notification is lost unless it is in `told_after_s`."""

    def __init__(self, scene: "Scene") -> None:
        self._scene, self.closed, self.refuses = scene, False, False

    def ask(self, sql: str, within_s: float) -> None:
        assert within_s == CALL_S
        if self.refuses:
            self.closed = True
            raise SessionLost("silence")
        self._scene.did.append(sql)

    def until_notified(self, within_s: float) -> None:
        assert not self.closed
        after_s = self._scene.told_after_s.pop(0) if self._scene.told_after_s else within_s
        self._scene.clock.sleep(min(after_s, within_s))
        self._scene.did.append(f"waited {min(after_s, within_s) * 1e3:g}")


class Scene:
    """One wait. `answers` to its attempts, in order; a callable among them does something first."""

    def __init__(self, *answers: Any, told_after_s: tuple[float, ...] = ()) -> None:
        self.clock, self.did = SteppingClock(), list[str]()
        self.session, self.told_after_s = FakeSession(self), list(told_after_s)
        self._answers = list(answers)

    def ask(self, block_ms: int) -> Grant | Refusal:
        self.did.append(f"asked {block_ms}")
        answer = self._answers.pop(0)
        if callable(answer):
            answer = answer()
        if answer is TIMEOUT:
            self.clock.sleep(block_ms / 1000)
        return cast("Grant | Refusal", answer)

    def wait(self, wait: str, timeout_ms: int) -> Grant | Refusal:
        session = lambda: cast(Session, self.session)  # noqa: E731
        how = Wait.parse(wait)
        return until_granted(self.clock, how, timeout_ms, self.ask, session, "lockbench_x", CALL_S)


def _outcome(answer: Grant | Refusal) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def test_slices_follow_each_other_and_the_last_ends_with_the_wait() -> None:
    scene = Scene(TIMEOUT, TIMEOUT, TIMEOUT)
    assert _outcome(scene.wait("lock-timeout-500ms", 1_200)) is Outcome.TIMEOUT
    assert scene.did == ["asked 500", "asked 500", "asked 200"]
    assert scene.clock.now_ns == 1_200_000_000


def test_a_slice_that_is_granted_is_the_last() -> None:
    scene = Scene(TIMEOUT, GRANT)
    assert scene.wait("lock-timeout-500ms", 60_000) is GRANT
    assert scene.did == ["asked 500"] * 2


def test_a_slice_that_failed_is_not_followed_by_another() -> None:
    scene = Scene(TIMEOUT, ERROR)
    assert scene.wait("lock-timeout-500ms", 60_000) is ERROR


@pytest.mark.parametrize("wait", ["lock-timeout-500ms", "notify-500ms"])
def test_no_time_to_wait_is_one_look(wait: str) -> None:
    scene = Scene(BUSY)
    assert _outcome(scene.wait(wait, 0)) is Outcome.TIMEOUT
    assert scene.did == ["asked 0"]


def test_a_free_lock_is_taken_without_a_subscription() -> None:
    scene = Scene(GRANT)
    assert scene.wait("notify-500ms", 1_000) is GRANT
    assert scene.did == ["asked 0"]


def test_whoever_subscribed_asks_before_it_waits() -> None:
    """What was told before the subscription was told to nobody."""
    scene = Scene(BUSY, GRANT)
    assert scene.wait("notify-500ms", 1_000) is GRANT
    assert scene.did == ["asked 0", LISTEN, "asked 0"]


def test_a_notification_is_followed_by_a_look_and_another_may_be_quicker() -> None:
    scene = Scene(BUSY, BUSY, BUSY, GRANT, told_after_s=(0.03, 0.04))
    assert scene.wait("notify-500ms", 1_000) is GRANT
    assert scene.did == ["asked 0", LISTEN, "asked 0", "waited 30", "asked 0", "waited 40", "asked 0"]


def test_a_lost_notification_costs_an_interval() -> None:
    scene = Scene(BUSY, BUSY, GRANT)
    assert scene.wait("notify-500ms", 60_000) is GRANT
    assert scene.did[-2:] == ["waited 500", "asked 0"]


def test_a_wait_that_timed_out_looked_at_its_end_and_is_not_subscribed() -> None:
    scene = Scene(BUSY, BUSY, BUSY, BUSY)
    assert _outcome(scene.wait("notify-500ms", 700)) is Outcome.TIMEOUT
    assert scene.did[2:] == ["asked 0", "waited 500", "asked 0", "waited 200", "asked 0", UNLISTEN]


def test_a_wait_that_failed_is_not_subscribed() -> None:
    scene = Scene(BUSY, ERROR)
    assert scene.wait("notify-500ms", 60_000) is ERROR
    assert scene.did[-1] == UNLISTEN


def test_a_new_session_is_subscribed_anew() -> None:
    scene = Scene(BUSY, lambda: replaced(scene), BUSY, GRANT, told_after_s=(0.03,))

    def replaced(scene: Scene) -> Refusal:
        scene.session.closed = True
        scene.session = FakeSession(scene)
        return BUSY

    assert scene.wait("notify-500ms", 60_000) is GRANT
    assert scene.did == ["asked 0", LISTEN, "asked 0", LISTEN, "asked 0", "waited 30", "asked 0"]


def test_a_session_that_was_closed_takes_its_subscription_along() -> None:
    unknown = Refusal(Outcome.UNKNOWN, "no session, and no other")

    def lost() -> Refusal:
        scene.session.closed = True
        return unknown

    scene = Scene(BUSY, lost)
    assert scene.wait("notify-500ms", 60_000) is unknown
    assert UNLISTEN not in scene.did


@pytest.mark.parametrize("answers", [(BUSY,), (BUSY, BUSY)])
def test_a_subscription_or_its_end_that_is_not_answered_is_raised(answers: tuple[Refusal, ...]) -> None:
    scene = Scene(*answers[:-1], lambda: refusing())

    def refusing() -> Refusal:
        scene.session.refuses = True
        return ERROR if len(answers) > 1 else BUSY

    with pytest.raises(SessionLost):
        scene.wait("notify-500ms", 60_000)


def test_a_channel_is_the_same_everywhere_and_fits() -> None:
    assert channel_of("orders") == "lockbench_1c168adb00d208e42f93314529f1fa9c"
    assert len(channel_of("\u8a9e" * 500)) <= 63
    assert channel_of("a") != channel_of("A")
