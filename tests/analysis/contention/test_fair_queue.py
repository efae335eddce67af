"""The yardstick against what is known of M/D/1, and against a queue that is played event by event."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.contention.fair_queue import (
    closed_wait_ns,
    md1_wait_mean,
    md1_wait_quantile,
    replayed_waits_ns,
)

SERVICE_NS = 1_000.0


def poisson(utilisation: float, count: int, seed: int) -> np.ndarray:
    gaps = np.random.default_rng(seed).exponential(SERVICE_NS / utilisation, count)
    return np.cumsum(gaps).astype(np.int64)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=50), st.integers(1, 20_000), st.integers(0, 50_000))
def test_a_replay_is_the_queue_played_by_hand(arrivals: list[int], service_ns: int, first_wait_ns: int) -> None:
    free_ns, expected = float(min(arrivals) + first_wait_ns), []
    for arrival in sorted(arrivals):
        expected.append(max(0.0, free_ns - arrival))
        free_ns = max(free_ns, arrival) + service_ns
    assert replayed_waits_ns(np.array(arrivals), service_ns, first_wait_ns) == pytest.approx(expected, abs=1e-3)


def test_no_arrival_waits_for_nothing() -> None:
    assert len(replayed_waits_ns(np.zeros(0, dtype=np.int64), SERVICE_NS)) == 0


@pytest.mark.parametrize("utilisation", [0.2, 0.5, 0.8, 0.95])
def test_a_long_replay_meets_the_formulas_of_m_d_1(utilisation: float) -> None:
    waits = replayed_waits_ns(poisson(utilisation, 2_000_000, seed=3), SERVICE_NS) / SERVICE_NS
    assert waits.mean() == pytest.approx(md1_wait_mean(utilisation), rel=0.03)
    for fraction in (0.9, 0.99, 0.999):
        exact = md1_wait_quantile(utilisation, fraction)
        assert np.quantile(waits, fraction) == pytest.approx(exact, rel=0.05, abs=0.01)


@given(st.floats(0.0, 0.97), st.floats(0.0, 0.999), st.floats(0.0, 0.999))
def test_quantiles_of_m_d_1_rise_with_the_fraction_and_are_0_while_the_server_is_idle(
    utilisation: float, one: float, other: float
) -> None:
    low, high = sorted((one, other))
    assert md1_wait_quantile(utilisation, low) <= md1_wait_quantile(utilisation, high) + 1e-9
    if low < 1.0 - utilisation - 1e-9:
        assert md1_wait_quantile(utilisation, low) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("utilisation", [-0.1, 1.0, 1.5])
def test_an_overloaded_queue_has_no_formula(utilisation: float) -> None:
    for formula in (md1_wait_mean, lambda load: md1_wait_quantile(load, 0.5)):
        with pytest.raises(ValueError, match="no steady state"):
            formula(utilisation)


def test_the_closed_loop_waits_for_all_others_less_what_it_thinks() -> None:
    assert closed_wait_ns(8, 1_000.0) == 7_000.0
    assert closed_wait_ns(8, 1_000.0, think_ns=2_500.0) == 4_500.0
    assert closed_wait_ns(2, 1_000.0, think_ns=5_000.0) == 0.0
