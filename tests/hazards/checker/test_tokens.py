"""Token order at its edges: what is proven, what is not, and which grant is named."""

from typing import Any

from bench.hazards.checker import check_trial
from bench.records.hazards import Belief
from tests.hazards.checker.records import belief, fault, trial


def found(*beliefs: Belief, **other: Any) -> tuple[int, list[tuple[str, str, int, int]]]:
    checked = check_trial(trial(beliefs=beliefs, **other))
    return checked.token_pairs, [
        (one.earlier, one.later, one.earlier_token, one.later_token) for one in checked.token_faults
    ]


def test_a_token_given_twice_does_not_rise() -> None:
    assert found(belief("a", 0, 10, token=7), belief("b", 11, 20, token=7)) == (1, [("a", "b", 7, 7)])
    assert found(belief("a", 0, 10, token=7), belief("b", 11, 20, token=8)) == (1, [])


def test_grants_that_lie_side_by_side_prove_nothing() -> None:
    assert found(belief("a", 5, 20, token=7), belief("b", 10, 30, asked_ns=4, token=6)) == (0, [])


def test_an_ask_after_the_telling_proves_the_order_though_both_believe() -> None:
    assert found(belief("a", 5, None, token=7), belief("b", 10, 30, asked_ns=5, token=6)) == (1, [("a", "b", 7, 6)])


def test_a_waiter_that_asked_long_before_is_judged_by_the_end_of_the_belief() -> None:
    holder = belief("a", 5, 10, token=7)
    assert found(holder, belief("b", 10, 30, asked_ns=1, token=6)) == (1, [("a", "b", 7, 6)])
    assert found(holder, belief("b", 9, 30, asked_ns=1, token=6)) == (0, [])


def test_each_is_compared_with_the_greatest_before_it_and_not_with_its_neighbour() -> None:
    beliefs = (
        belief("a", 0, 1, token=9),
        belief("b", 2, 3, token=4),
        belief("c", 4, 5, token=5),
        belief("d", 6, 7, token=10),
    )
    assert found(*beliefs) == (3, [("a", "b", 9, 4), ("a", "c", 9, 5)])


def test_of_two_with_the_greatest_token_the_one_told_first_is_named() -> None:
    beliefs = belief("z", 1, 8, token=9), belief("b", 2, 3, asked_ns=0, token=9), belief("c", 10, 11, token=9)
    assert found(*beliefs)[1] == [("z", "c", 9, 9)]


def test_grants_without_a_token_are_passed_over() -> None:
    assert found(belief("a", 0, 1, token=9), belief("b", 2, 3), belief("c", 4, 5, token=8)) == (1, [("a", "c", 9, 8)])


def test_keys_count_apart() -> None:
    assert found(belief("a", 0, 1, token=9), belief("b", 2, 3, token=1, key="other")) == (0, [])


def test_two_of_no_length_at_one_instant_are_not_before_each_other() -> None:
    assert found(belief("a", 5, 5, token=7), belief("b", 5, 5, token=7)) == (0, [])
    assert found(belief("a", 5, 5, token=7), belief("b", 5, 9, asked_ns=1, token=7)) == (0, [])


def test_who_reads_late_of_an_old_grant_is_no_fault_of_the_tokens() -> None:
    """Stopped between the drawing of its token and the reading of it; meanwhile its lease ended and another held."""
    other = belief("new", 20, 30, token=8, lease_until_ns=60)
    assert found(other, belief("old", 40, 41, asked_ns=10, token=7, lease_until_ns=40)) == (0, [])
    assert found(other, belief("old", 40, 41, asked_ns=10, token=7, lease_until_ns=41)) == (1, [("new", "old", 8, 7)])
    old = belief("old", 40, 41, asked_ns=10, token=7, actor="sleeper")
    assert found(other, old, faults=[fault("pause", "sleeper", 12, 39)]) == (0, [])
    assert found(other, old, faults=[fault("pause", "sleeper", 12, None)]) == (0, [])
    for elsewhere in (
        fault("pause", "sleeper", 1, 9),
        fault("pause", "sleeper", 41, 50),
        fault("pause", "somebody", 12, 39),
        fault("kill", "sleeper", 5, None),
    ):
        assert found(other, old, faults=[elsewhere]) == (1, [("new", "old", 8, 7)])


def test_a_fault_elsewhere_does_not_hide_one_that_covers_the_ask() -> None:
    windows = [fault("pause", "sleeper", 1, 39), fault("pause", "sleeper", 2, 3)]
    old = belief("old", 40, 41, asked_ns=10, token=7, actor="sleeper")
    assert found(belief("new", 20, 30, token=8), old, faults=windows) == (0, [])
