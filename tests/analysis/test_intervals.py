"""Intervals across runs: their method by the number of runs, their properties, and their coverage."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL, Method, across_runs, ratio

values = st.floats(min_value=0.1, max_value=1e7)
some = st.lists(values, min_size=1, max_size=12)
few = st.lists(values, min_size=2, max_size=RUNS_FOR_AN_INTERVAL - 1)
many = st.lists(values, min_size=RUNS_FOR_AN_INTERVAL, max_size=12)
ROUNDING = 1e-9


@given(some)
def test_the_value_lies_within_its_bounds(runs: list[float]) -> None:
    estimate = across_runs(runs)
    assert estimate.low * (1 - ROUNDING) <= estimate.value <= estimate.high * (1 + ROUNDING)
    assert estimate.runs == len(runs)


@given(some, st.floats(min_value=0.01, max_value=1000.0))
def test_another_unit_is_another_scale_and_nothing_else(runs: list[float], factor: float) -> None:
    direct, scaled = across_runs([run * factor for run in runs]), across_runs(runs).scaled(factor)
    for one, other in ((direct.value, scaled.value), (direct.low, scaled.low), (direct.high, scaled.high)):
        assert one == pytest.approx(other, rel=1e-9)


@given(some, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(runs: list[float], dice: random.Random) -> None:
    shuffled = list(runs)
    dice.shuffle(shuffled)
    assert across_runs(shuffled).low == pytest.approx(across_runs(runs).low, rel=1e-9)


@given(few)
def test_few_runs_give_their_median_and_range_and_say_so(runs: list[float]) -> None:
    estimate = across_runs(runs)
    assert (estimate.value, estimate.low, estimate.high) == (statistics.median(runs), min(runs), max(runs))
    assert estimate.method is Method.RANGE


@given(many)
def test_six_runs_give_the_t_interval_of_the_logarithms(runs: list[float]) -> None:
    estimate = across_runs(runs)
    assert estimate.method is Method.T_LOG
    logs = [math.log(run) for run in runs]
    spread = statistics.stdev(logs) / math.sqrt(len(logs))
    if spread > 1e-9:
        low, high = stats.t.interval(0.95, len(logs) - 1, loc=statistics.fmean(logs), scale=spread)
        assert estimate.low == pytest.approx(math.exp(low), rel=1e-6)
        assert estimate.high == pytest.approx(math.exp(high), rel=1e-6)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    dice = random.Random(20)
    truth, hits, trials = 8.0, 0, 2_000
    for _ in range(trials):
        estimate = across_runs([dice.lognormvariate(math.log(truth), 0.1) for _ in range(RUNS_FOR_AN_INTERVAL)])
        hits += estimate.low <= truth <= estimate.high
    assert 0.93 <= hits / trials <= 0.97


@given(some, some)
def test_the_inverse_of_a_ratio_is_the_ratio_the_other_way_round(above: list[float], below: list[float]) -> None:
    one, other = ratio(above, below), ratio(below, above)
    if one.method is Method.T_LOG:
        assert one.value == pytest.approx(1.0 / other.value, rel=1e-6)
    # The width of an interval can exceed what a float holds; then there is nothing to compare.
    if 1e-100 < other.high < 1e100 and 1e-100 < other.low < 1e100:
        assert one.low == pytest.approx(1.0 / other.high, rel=1e-6)
        assert one.high == pytest.approx(1.0 / other.low, rel=1e-6)


@given(st.lists(st.floats(min_value=1.0, max_value=2.0), min_size=6, max_size=12))
def test_a_ratio_of_runs_to_themselves_is_about_one(runs: list[float]) -> None:
    estimate = ratio(runs, runs)
    assert estimate.value == pytest.approx(1.0)
    assert estimate.low <= 1.0 + ROUNDING
    assert estimate.high >= 1.0 - ROUNDING


@pytest.mark.parametrize("runs", [[], [0.0], [-1.0], [math.nan], [math.inf]])
def test_what_has_no_logarithm_is_refused(runs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no run|positive"):
        across_runs(runs)
