"""The knee is the smallest number of clients that reaches the ceiling."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.records.ladder import KNEE_SHARE, best_step, knee_clients, steps_to, still_rising
from bench.records.schema import LadderStep

_RATES = st.lists(st.integers(0, 10_000), min_size=1, max_size=8)


def ladder(rates: list[int]) -> list[LadderStep]:
    return [LadderStep(clients=1 << place, window_s=0.5, pairs=rate, acquire="") for place, rate in enumerate(rates)]


@given(st.integers(2, 5000))
def test_steps_double_up_to_all_clients(clients: int) -> None:
    *below, last = steps_to(clients)
    assert last == clients
    assert below[0] == 1
    assert all(after == 2 * before for before, after in pairwise(below))
    assert below[-1] < clients <= 2 * below[-1]


def test_one_client_has_nothing_to_climb() -> None:
    assert steps_to(1) == ()


@given(_RATES)
def test_the_window_gets_the_best_step(rates: list[int]) -> None:
    assert rates[best_step(rates)] == max(rates)
    assert max(rates) not in rates[: best_step(rates)], "with no more clients than it takes"


@given(_RATES)
def test_the_knee_reaches_the_ceiling_and_nothing_below_it_does(rates: list[int]) -> None:
    steps = ladder(rates)
    knee = knee_clients(steps)
    best = max(rates)
    if not best:
        assert knee is None
        return
    for step in steps:
        if step.clients == knee:
            assert step.pairs >= KNEE_SHARE * best
        elif step.clients < (knee or 0):
            assert step.pairs < KNEE_SHARE * best


@given(_RATES, st.integers(2, 50))
def test_the_knee_knows_no_units(rates: list[int], factor: int) -> None:
    assert knee_clients(ladder(rates)) == knee_clients(ladder([rate * factor for rate in rates]))


@pytest.mark.parametrize(
    ("rates", "knee", "rising"),
    [
        ([100, 200, 400, 800], 8, True),
        ([100, 200, 390, 400, 395], 4, False),
        ([500, 900, 700], 2, False),
        ([500], 1, False),
        ([0, 0], None, False),
    ],
)
def test_known_ladders(rates: list[int], knee: int | None, rising: bool) -> None:
    assert knee_clients(ladder(rates)) == knee
    assert still_rising(ladder(rates)) == rising
    assert knee_clients([]) is None
