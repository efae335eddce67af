"""Where an interval lies relative to a claimed range: all relations, and what a one-sided bound can decide."""

import math
from itertools import product

import pytest

from bench.analysis.relations import Relation, relation

OPEN = math.inf


@pytest.mark.parametrize(
    ("interval", "claimed", "expected"),
    [
        ((1, 4), (5, 10), Relation.BELOW),
        ((1, 5), (5, 10), Relation.LOW_END),
        ((4, 6), (5, 10), Relation.LOW_END),
        ((5, 10), (5, 10), Relation.INSIDE),
        ((6, 9), (5, 10), Relation.INSIDE),
        ((9, 11), (5, 10), Relation.HIGH_END),
        ((11, 12), (5, 10), Relation.ABOVE),
        ((4, 11), (5, 10), Relation.BOTH_ENDS),
        # Open ends of a claim: under 10, over 5.
        ((0, 9), (0, 10), Relation.INSIDE),
        ((9, 11), (0, 10), Relation.HIGH_END),
        ((11, 12), (0, 10), Relation.ABOVE),
        ((6, 9), (5, OPEN), Relation.INSIDE),
        ((4, 6), (5, OPEN), Relation.LOW_END),
        ((1, 4), (5, OPEN), Relation.BELOW),
        # At least: decides upwards, and a claim that is open there.
        ((1, OPEN), (5, 10), Relation.BOTH_ENDS),
        ((6, OPEN), (5, 10), Relation.HIGH_END),
        ((11, OPEN), (5, 10), Relation.ABOVE),
        ((6, OPEN), (5, OPEN), Relation.INSIDE),
        ((1, OPEN), (5, OPEN), Relation.LOW_END),
        ((9, OPEN), (0, 10), Relation.HIGH_END),
        # At most: decides downwards, and a claim that is open there.
        ((0, 4), (5, 10), Relation.BELOW),
        ((0, 9), (5, 10), Relation.LOW_END),
        ((0, 12), (5, 10), Relation.BOTH_ENDS),
        ((0, 12), (0, 10), Relation.HIGH_END),
    ],
)
def test_every_relation(interval: tuple[float, float], claimed: tuple[float, float], expected: Relation) -> None:
    assert relation(*interval, *claimed) is expected


def test_a_decided_interval_lies_wholly_on_one_side_whatever_the_numbers() -> None:
    """Against the definition, over a grid: decided is exactly what is true of every value of the interval."""
    for low, width, start, length in product(range(6), range(6), range(6), range(6)):
        high, end = low + width, start + length
        found = relation(low, high, start, end)
        values = [low + width * step / 8 for step in range(9)]
        sides = {"below" if value < start else "above" if value > end else "inside" for value in values}
        if found.decided:
            assert sides == {str(found)}
        else:
            assert len(sides) > 1 or low == high
