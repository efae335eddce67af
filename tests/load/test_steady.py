"""A trend is told when it is there, and hardly ever when it is not."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.steady import OPERATIONS_NEEDED, SLICES, latency_trend, throughput_trend, trend

Column = npt.NDArray[np.int64]
WINDOW_S = 3.0


def instants(dice: np.random.Generator, count: int, growth: float = 1.0) -> Column:
    """Operations whose rate grows evenly from the beginning of the window to its end, `growth` times in all."""
    share = dice.random(count)
    if growth != 1.0:
        share = (np.sqrt(1 + share * (growth**2 - 1)) - 1) / (growth - 1)
    return np.sort((share * WINDOW_S * 1e9).astype(np.int64)) + 10**15


def latencies(dice: np.random.Generator, count: int) -> Column:
    return dice.lognormal(13.0, 0.6, count).astype(np.int64)


def test_a_run_without_a_trend_is_seldom_accused() -> None:
    accused = 0
    for seed in range(300):
        dice = np.random.default_rng(seed)
        at = instants(dice, 500)
        found = throughput_trend(at, WINDOW_S), latency_trend(at, latencies(dice, 500), WINDOW_S)
        accused += any(one is not None and not one.steady for one in found)
    assert accused <= 300 * 0.04, "two tests, one in a hundred each"


@pytest.mark.parametrize("growth", [0.5, 2.0])
def test_a_drifting_throughput_is_told(growth: float) -> None:
    for seed in range(20):
        found = throughput_trend(instants(np.random.default_rng(seed), 4000, growth), WINDOW_S)
        assert found is not None
        assert not found.steady
        assert (found.change > 0) == (growth > 1)


@pytest.mark.parametrize("shape", ["ramp", "step"])
def test_a_drifting_latency_is_told(shape: str) -> None:
    for seed in range(20):
        dice = np.random.default_rng(seed)
        at = instants(dice, 4000)
        place = np.linspace(0, 1, 4000)
        factor = 1 + 0.5 * place if shape == "ramp" else np.where(place < 0.5, 1.0, 1.4)
        found = latency_trend(at, (latencies(dice, 4000) * factor).astype(np.int64), WINDOW_S)
        assert found is not None
        assert not found.steady


def test_one_pause_is_no_trend() -> None:
    dice = np.random.default_rng(1)
    series = dice.normal(100, 2, SLICES)
    series[7] = 900
    found = trend(series)
    assert found is not None
    assert found.steady


def test_a_small_drift_is_no_trend_however_certain() -> None:
    found = trend(np.linspace(100, 110, SLICES))
    assert found is not None
    assert found.chance < 1e-6
    assert found.steady


def test_too_few_operations_are_not_judged() -> None:
    few = instants(np.random.default_rng(1), OPERATIONS_NEEDED - 1)
    assert throughput_trend(few, WINDOW_S) is None
    assert latency_trend(few, few, WINDOW_S) is None
    assert throughput_trend(few[:0], WINDOW_S) is None


_SERIES = st.lists(st.integers(1, 1000), min_size=4, max_size=30)


@settings(max_examples=60)
@given(_SERIES, st.integers(2, 9))
def test_a_trend_knows_no_units(values: list[int], factor: int) -> None:
    one, scaled = (trend(np.array(values, dtype=np.float64) * by) for by in (1, factor))
    assert one is not None
    assert scaled is not None
    assert scaled.change == pytest.approx(one.change)
    assert scaled.chance == pytest.approx(one.chance)


@settings(max_examples=60)
@given(_SERIES)
def test_played_backwards_a_trend_is_its_opposite(values: list[int]) -> None:
    series = np.array(values, dtype=np.float64)
    one, back = trend(series), trend(series[::-1].copy())
    assert one is not None
    assert back is not None
    assert back.change == pytest.approx(-one.change)
    assert back.chance == pytest.approx(one.chance)
    assert 0 <= one.chance <= 1
