"""Overlaps at their edges: what touches, what is empty, what never ends."""

import pytest

from bench.hazards.checker import check_trial
from bench.records.hazards import Belief, EndOfBelief
from tests.hazards.checker.records import belief, trial


def found(*beliefs: Belief) -> tuple[list[tuple[str, str, int, int]], int]:
    checked = check_trial(trial(beliefs=beliefs))
    return [(one.earlier, one.later, one.from_ns, one.until_ns) for one in checked.overlaps], checked.overlap_ns


def test_touching_is_no_overlap() -> None:
    assert found(belief("a", 0, 10), belief("b", 10, 20)) == ([], 0)


def test_one_nanosecond_is() -> None:
    assert found(belief("a", 0, 11), belief("b", 10, 20)) == ([("a", "b", 10, 11)], 1)


def test_beliefs_of_other_keys_are_not_compared() -> None:
    assert found(belief("a", 0, 50), belief("b", 10, 20, key="other")) == ([], 0)


def test_two_grants_of_one_actor_overlap_too() -> None:
    assert found(belief("a", 0, 20, actor="x"), belief("b", 10, 30, actor="x")) == ([("a", "b", 10, 20)], 10)


def test_who_believes_to_the_last_believes_to_the_end_of_the_trial() -> None:
    one = belief("a", 5, None, ended_by=EndOfBelief.NONE)
    assert found(one, belief("b", 90, None, ended_by=EndOfBelief.NONE)) == ([("a", "b", 90, 100)], 10)


def test_the_dead_believe_nothing() -> None:
    assert found(belief("a", 0, 10, ended_by=EndOfBelief.KILLED), belief("b", 10, 20)) == ([], 0)


@pytest.mark.parametrize("at_ns", [0, 5, 10])
def test_a_belief_of_no_length_overlaps_nothing(at_ns: int) -> None:
    assert found(belief("a", 0, 10), belief("b", at_ns, at_ns)) == ([], 0)


def test_a_belief_of_no_length_hides_no_other() -> None:
    assert found(belief("a", 0, 0), belief("b", 0, 10), belief("c", 9, 9), belief("d", 9, 12))[0] == [("b", "d", 9, 10)]


def test_beliefs_told_at_one_instant_overlap_in_a_fixed_order() -> None:
    expected = [("a", "b", 5, 7)], 2
    assert found(belief("a", 5, 9), belief("b", 5, 7)) == expected
    assert found(belief("b", 5, 7), belief("a", 5, 9)) == expected


def test_each_later_one_is_paired_with_the_one_that_lasts_longest() -> None:
    overlaps, overlap_ns = found(belief("a", 0, 50), belief("b", 10, 20), belief("c", 15, 60), belief("d", 55, 58))
    assert overlaps == [("a", "b", 10, 20), ("a", "c", 15, 50), ("c", "d", 55, 58)]
    assert overlap_ns == (50 - 10) + (58 - 55), "no instant counts twice"


def test_the_time_of_two_keys_adds_up() -> None:
    of_other = [belief("c", 0, 20, key="other"), belief("d", 10, 30, key="other")]
    assert found(belief("a", 0, 20), belief("b", 10, 30), *of_other)[1] == 20
