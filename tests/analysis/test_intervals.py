"""Intervals across runs: their method by the number of runs, their properties, and their coverage."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bench.analysis.intervals import (
    RUNS_FOR_AN_INTERVAL,
    Method,
    across_campaigns,
    across_runs,
    ratio,
    ratio_of_campaigns,
    spread,
)

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
    assert one.method is other.method
    if one.has_confidence:
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


@given(some, some)
def test_a_ratio_lies_within_its_bounds(above: list[float], below: list[float]) -> None:
    estimate = ratio(above, below)
    assert estimate.low * (1 - ROUNDING) <= estimate.value <= estimate.high * (1 + ROUNDING)
    assert estimate.runs == min(len(above), len(below))


@given(some, some, st.randoms(use_true_random=False))
def test_a_ratio_repeats_itself_in_any_order_of_the_runs(
    above: list[float], below: list[float], dice: random.Random
) -> None:
    shuffled = list(above)
    dice.shuffle(shuffled)
    assert ratio(shuffled, below) == ratio(above, below)


@given(some, some, st.floats(min_value=0.01, max_value=100.0))
def test_a_ratio_in_another_unit_is_another_scale(above: list[float], below: list[float], factor: float) -> None:
    direct, scaled = ratio([run * factor for run in above], below), ratio(above, below).scaled(factor)
    assert direct.value == pytest.approx(scaled.value, rel=1e-6)
    if scaled.method is direct.method and scaled.low > 1e-100 and scaled.high < 1e100:
        assert direct.low == pytest.approx(scaled.low, rel=1e-4)
        assert direct.high == pytest.approx(scaled.high, rel=1e-4)


@given(some, st.data())
def test_a_slower_run_never_makes_the_value_smaller(runs: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(runs) - 1))
    factor = data.draw(st.floats(min_value=1.0, max_value=1e3))
    slower = [run * factor if index == place else run for index, run in enumerate(runs)]
    assert across_runs(slower).value >= across_runs(runs).value * (1 - ROUNDING)
    assert ratio(slower, [1.0]).value >= ratio(runs, [1.0]).value * (1 - ROUNDING)


@pytest.mark.parametrize("kind", ["one", "two"])
def test_more_runs_narrow_the_interval_in_the_mean(kind: str) -> None:
    """Not in every sample: six runs may happen to lie closer together than twelve."""
    widths = {}
    for runs in (6, 12, 24):
        dice = random.Random(4)
        drawn = [[dice.lognormvariate(0.0, 0.2) for _ in range(2 * runs)] for _ in range(60)]
        estimates = [across_runs(each[:runs]) if kind == "one" else ratio(each[:runs], each[runs:]) for each in drawn]
        widths[runs] = statistics.fmean(math.log(one.high / one.low) for one in estimates)
    assert widths[6] > 1.2 * widths[12] > 1.4 * widths[24]


@pytest.mark.parametrize("other_runs", range(1, 9))
def test_a_ratio_says_how_its_bounds_were_made(other_runs: int) -> None:
    dice = random.Random(1)
    above, below = ([dice.lognormvariate(1.0, 0.1) for _ in range(runs)] for runs in (8, other_runs))
    estimate = ratio(above, below)
    assert estimate.method is (Method.RANGE if other_runs < RUNS_FOR_AN_INTERVAL else Method.WELCH_LOG)
    assert estimate.has_confidence is (other_runs >= RUNS_FOR_AN_INTERVAL)


@given(many, many)
def test_six_runs_of_either_give_welchs_interval_of_the_logarithms(above: list[float], below: list[float]) -> None:
    estimate = ratio(above, below)
    assert estimate.method is Method.WELCH_LOG
    logs = [[math.log(run) for run in runs] for runs in (above, below)]
    if min(statistics.stdev(side) for side in logs) > 1e-6:
        low, high = stats.ttest_ind(*logs, equal_var=False).confidence_interval(0.95)
        assert (math.log(estimate.low), math.log(estimate.high)) == pytest.approx((low, high), rel=1e-6, abs=1e-6)


# A lock's p99 in six runs with contention, and in six without it, which have two modes: as measured, in µs.
CONTENDED = [308_281.0, 272_368.0, 274_465.0, 312_738.0, 278_659.0, 327_680.0]
TWO_MODES = [20.64, 38.88, 44.096, 42.464, 42.144, 20.448]


def test_the_bounds_of_a_ratio_of_runs_in_two_modes_lie_about_the_pairs_of_runs() -> None:
    """A studentised bootstrap gave 29 837 as the upper bound, where the largest ratio of any two runs is 16 025."""
    estimate = ratio(CONTENDED, TWO_MODES)
    pairs = [above / below for above in CONTENDED for below in TWO_MODES]
    assert 0.9 * min(pairs) <= estimate.low <= estimate.value <= estimate.high <= max(pairs)


def test_runs_that_all_agree_have_no_width() -> None:
    estimate = ratio([3.0] * 6, [2.0] * 6)
    assert (estimate.low, estimate.value, estimate.high) == pytest.approx((1.5, 1.5, 1.5))
    assert estimate.method is Method.WELCH_LOG


THREE = [[1.0, 1.1], [2.0, 2.2], [3.0, 3.3]]


def test_three_campaigns_are_the_units_of_an_interval() -> None:
    means = [statistics.fmean(math.log(run) for run in runs) for runs in THREE]
    estimate = across_campaigns(THREE)
    low, high = stats.t.interval(0.95, 2, loc=statistics.fmean(means), scale=statistics.stdev(means) / math.sqrt(3))
    assert (math.log(estimate.low), math.log(estimate.high)) == pytest.approx((low, high))
    assert (estimate.method, estimate.runs) == (Method.T_LOG_OF_CAMPAIGNS, 6)
    both = ratio_of_campaigns(THREE, [[run * 2 for run in runs] for runs in THREE])
    assert (both.method, both.value) == (Method.WELCH_LOG_OF_CAMPAIGNS, pytest.approx(0.5))


def test_two_campaigns_have_a_range_and_no_interval_however_many_runs() -> None:
    assert across_campaigns([[1.0] * 6, [2.0] * 6]).method is Method.RANGE
    assert ratio_of_campaigns([[1.0] * 6, [2.0] * 6], [[1.0] * 6]).method is Method.RANGE


def test_variation_is_parted_into_that_within_campaigns_and_that_between_them() -> None:
    dice = random.Random(3)
    campaigns = []
    for _ in range(400):
        day = dice.gauss(0.0, 0.3)
        campaigns.append([math.exp(day + dice.gauss(0.0, 0.1)) for _ in range(6)])
    found = spread(campaigns)
    assert found is not None
    assert (found.within, found.between) == (pytest.approx(0.1, rel=0.1), pytest.approx(0.3, rel=0.1))
    alike = spread([[1.0, 1.2, 1.4], [1.4, 1.0, 1.2]])
    assert alike is not None
    assert alike.between == 0.0
    assert spread([[1.0, 2.0]]) is None


@pytest.mark.parametrize("runs", [[], [0.0], [-1.0], [math.nan], [math.inf]])
def test_what_has_no_logarithm_is_refused(runs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"no run|positive"):
        across_runs(runs)
