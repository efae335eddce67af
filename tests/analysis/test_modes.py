"""Two modes in the runs of a cell."""

import random

import pytest

from bench.analysis.modes import modes


def test_two_heaps_have_two_centres_and_their_middle_is_no_value_of_any_run() -> None:
    assert modes([12.5, 24.2, 24.3, 12.4, 24.1, 12.6]) == (12.5, 24.2)


@pytest.mark.parametrize(
    "values",
    [
        [10.0, 10.5, 11.0, 11.5, 12.0, 12.5],
        [10.0, 10.1, 10.2, 10.1, 10.0, 40.0],
        [10.0, 20.0, 40.0, 80.0],
        [10.0, 10.01, 10.3, 10.31],
        [10.0, 20.0, 20.0],
    ],
    ids=["spread evenly", "one run far off", "no two alike", "too near to matter", "too few runs"],
)
def test_one_heap_has_one_centre(values: list[float]) -> None:
    assert len(modes(values)) == 1


def test_no_value_has_no_mode() -> None:
    assert modes([]) == ()


def test_runs_that_differ_by_chance_are_rarely_taken_for_two_heaps() -> None:
    dice = random.Random(9)
    two = sum(len(modes([dice.lognormvariate(0, 0.15) for _ in range(6)])) == 2 for _ in range(2_000))
    assert two < 0.05 * 2_000
