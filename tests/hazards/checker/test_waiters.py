"""Waiters at their edges. The TTL is 1 ms; the key counts as free one TTL after everything that may have held it."""

from typing import Any

import pytest

from bench.hazards.checker import check_trial
from tests.hazards.checker.records import ask, belief, fault, trial

TTL = 1_000_000
END = 100 * TTL


def unserved(*asks: Any, **events: Any) -> int:
    return check_trial(trial(asks=asks, ended_ns=END, **events)).never_served


def test_who_is_never_answered_was_not_served() -> None:
    assert unserved(ask(5, None, "")) == 1
    assert unserved(ask(5, None, "", waited=False)) == 0


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (fault("kill", "waiter", 5, None), 0),
        (fault("kill", "waiter", 4, None), 1),
        (fault("kill", "another", 5, None), 1),
        (fault("pause", "waiter", 9, None), 0),
        (fault("pause", "waiter", 9, END), 0),
        (fault("pause", "waiter", 9, END - 1), 1),
        (fault("partition", "waiter", 9, None), 1),
    ],
)
def test_the_dead_wait_for_nothing(window: Any, expected: int) -> None:
    assert unserved(ask(5, None, ""), faults=[window]) == expected


@pytest.mark.parametrize("outcome", ["busy", "lost", "error", "unknown", "acquired"])
def test_other_answers_are_answers(outcome: str) -> None:
    assert unserved(ask(5, 50 * TTL, outcome)) == 0


def test_a_timeout_at_a_key_that_nobody_ever_held() -> None:
    assert unserved(ask(5, 5 + TTL, "timeout")) == 0
    assert unserved(ask(5, 5 + TTL + 1, "timeout")) == 1
    assert unserved(ask(5, 5 + TTL + 1, "timeout", waited=False)) == 0
    assert unserved(ask(5, 5 + TTL + 1, "timeout"), beliefs=[belief("a", 0, 9 * TTL, key="other")]) == 1


def test_the_lease_may_outlive_the_belief_by_one_ttl() -> None:
    holder = belief("a", 0, 2 * TTL)
    assert unserved(ask(5, 4 * TTL, "timeout"), beliefs=[holder]) == 0
    assert unserved(ask(3 * TTL, 4 * TTL + 1, "timeout"), beliefs=[holder]) == 1


def test_the_key_must_be_free_for_half_of_the_ask() -> None:
    holder = belief("a", 0, 10 * TTL)  # may be held until 11 TTL
    assert unserved(ask(TTL, 21 * TTL, "timeout"), beliefs=[holder]) == 1
    assert unserved(ask(TTL - 1, 21 * TTL, "timeout"), beliefs=[holder]) == 0


def test_a_longer_belief_is_not_forgotten_for_a_later_one() -> None:
    beliefs = [belief("a", 0, 40 * TTL), belief("b", 5, 6)]
    assert unserved(ask(TTL, 30 * TTL, "timeout"), beliefs=beliefs) == 0


def test_who_believes_to_the_end_leaves_nobody_unserved() -> None:
    assert unserved(ask(5, 50 * TTL, "timeout"), beliefs=[belief("a", 4, None)]) == 0


def test_a_grant_told_at_the_timeout_is_no_excuse_but_one_told_late_is() -> None:
    late = {"asked_ns": 6, "actor": "sleeper"}
    holder = belief("a", 50 * TTL, 51 * TTL, **late)
    assert unserved(ask(5, 50 * TTL, "timeout"), beliefs=[holder]) == 1
    assert unserved(ask(5, 50 * TTL, "timeout"), beliefs=[holder], faults=[fault("pause", "sleeper", 7, 9)]) == 0
    assert (
        unserved(ask(5, 50 * TTL, "timeout"), beliefs=[belief("a", 50 * TTL, 51 * TTL, lease_until_ns=8, **late)]) == 0
    )


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (ask(4, 48 * TTL, "unknown", actor="other"), 0),
        (ask(4, 48 * TTL, "lost", actor="other"), 0),
        (ask(4, 48 * TTL, "busy", actor="other"), 1),
        (ask(4, 48 * TTL, "error", actor="other"), 1),
        (ask(4, 8, "unknown", actor="other"), 1),
        (ask(4, 48 * TTL, "unknown", actor="other", key="another"), 1),
        (ask(4, None, "", actor="other", waited=False), 0),
    ],
)
def test_an_ask_that_may_have_left_a_grant_is_an_excuse(other: Any, expected: int) -> None:
    assert unserved(ask(5, 50 * TTL, "timeout"), other) == expected


def test_an_asker_that_was_killed_holds_nothing_for_ever() -> None:
    dead = ask(4, None, "", actor="dead")
    assert unserved(ask(5, 50 * TTL, "timeout"), dead, faults=[fault("kill", "dead", 9, None)]) == 1
    assert unserved(ask(5, 50 * TTL, "timeout"), dead, faults=[fault("kill", "dead", 40 * TTL, None)]) == 0


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (fault("pause", "waiter", 0, 5), 0),
        (fault("partition", "waiter", 50 * TTL, None), 0),
        (fault("pause", "waiter", 0, 4), 1),
        (fault("pause", "waiter", 50 * TTL + 1, None), 1),
        (fault("restart", "server", 0, None), 1),
    ],
)
def test_a_fault_on_the_waiter_itself_is_an_excuse(window: Any, expected: int) -> None:
    assert unserved(ask(5, 50 * TTL, "timeout"), faults=[window]) == expected
