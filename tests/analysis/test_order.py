"""Is there a trend in the order of a cell's runs?"""

import itertools

import pytest

from bench.analysis.steady import order_trend

# Pairs a second of ZooKeeper's six saturation runs in a reference campaign of cold servers, in the order they ran.
_WARMING = [1531.0, 1686.0, 2867.0, 1990.0, 2075.0, 3351.0]


def test_servers_that_warm_up_from_run_to_run_are_seen() -> None:
    found = order_trend(_WARMING)
    assert found is not None
    assert not found.steady
    assert found.chance == pytest.approx(40 / 720)
    assert found.change > 0.3


def test_the_chance_is_that_of_all_orders() -> None:
    orders = list(itertools.permutations(range(1, 6)))
    for values in orders[::7]:
        found = order_trend([float(value) for value in values])
        assert found is not None
        scores = [_score(order) for order in orders]
        assert found.chance == pytest.approx(sum(abs(score) >= abs(_score(values)) for score in scores) / len(orders))


def test_a_small_change_is_no_trend_however_certain() -> None:
    found = order_trend([100.0, 101.0, 102.0, 103.0, 104.0, 105.0])
    assert found is not None
    assert found.chance < 0.01
    assert found.steady


def test_of_three_runs_no_order_is_unlikely() -> None:
    assert order_trend([1.0, 2.0, 3.0]) is None


def test_many_runs_are_told_by_the_approximation() -> None:
    found = order_trend([100.0 + 3 * number for number in range(30)])
    assert found is not None
    assert not found.steady


def _score(values: tuple[int, ...]) -> int:
    return sum((later > earlier) - (later < earlier) for earlier, later in itertools.combinations(values, 2))
