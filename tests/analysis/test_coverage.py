"""Nominal 95 % intervals cover the truth in 90 to 98 % of seeded trials; where they do not, the page says so."""

import math
import time
from collections.abc import Callable, Sequence

import pytest

from bench.analysis import coverage
from bench.analysis.intervals import Estimate, across_campaigns, ratio_of_campaigns
from bench.report.statistics_page import statistics_markdown

WITHIN_S = 20.0  # of processor time, for the whole simulation


def regular(line: coverage.Coverage) -> bool:
    """Is it a line in which the interval is asked for what it promises: no disturbed runs, no truth of others?"""
    one_of_many = any(side.campaign_effect and side.campaigns == 1 for side in line.sides)
    return line.effects != "disturbed" and not one_of_many


def sensitive(line: coverage.Coverage) -> bool:
    """Of six runs in two modes 3 % lie in one, whatever the width; t with two degrees of freedom has room for twice."""
    return regular(line) and line.effects != "bimodal" and line.sides[0].campaigns == 1


def test_intervals_cover_the_truth_as_often_as_they_promise() -> None:
    started_s = time.process_time()
    lines = list(coverage.simulate())
    told = [(line.interval, line.effects, [side.runs for side in line.sides], line.share) for line in lines]
    assert all(line.accepted for line in lines if regular(line)), told
    assert {line.interval for line in lines} == {"quantile", "ratio"}
    assert {line.effects for line in lines} == {"normal", "skewed", "bimodal", "disturbed"}
    runs = {side.runs for line in lines for side in line.sides}
    assert (min(runs), max(runs)) == (6, 20)
    assert time.process_time() - started_s <= WITHIN_S


def test_one_campaign_does_not_cover_the_truth_of_many() -> None:
    """What an interval "of one campaign on one host" cannot know, and three campaigns can."""
    shares = {line.sides[0].campaigns: line.share for line in coverage.simulate() if line.sides[0].campaign_effect}
    assert shares[1] < 0.8 < 0.9 < shares[3]


def test_a_line_that_falls_short_is_printed_as_such_with_what_to_do() -> None:
    page = statistics_markdown()
    short = [line for line in coverage.simulate() if line.share < coverage.ACCEPTED[0]]
    assert {line.effects for line in short} == {"normal", "disturbed"}
    assert page.count("**falls short**") == len(short)
    assert page.count("as promised") >= sum(line.accepted for line in coverage.simulate())
    assert "measure again on a quiet host" in page


def test_the_simulation_is_seeded() -> None:
    dice = [coverage.np.random.default_rng(3) for _ in range(2)]
    one, other = (coverage._quantiles(coverage.Side(6, 0.1), "skewed", 4, each) for each in dice)
    assert (one == other).all()


@pytest.mark.parametrize("factor", [0.6, 2.0])
def test_a_wrong_width_is_found(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """What would happen to a forgotten degree of freedom, or to standard errors of operations instead of runs."""

    def stretched(estimate: Estimate) -> Estimate:
        low, high = (estimate.value * (bound / estimate.value) ** factor for bound in (estimate.low, estimate.high))
        return Estimate(estimate.value, low, high, estimate.method, estimate.runs)

    def of_one(campaigns: Sequence[Sequence[float]]) -> Estimate:
        return stretched(across_campaigns(campaigns))

    def of_two(above: Sequence[Sequence[float]], below: Sequence[Sequence[float]]) -> Estimate:
        return stretched(ratio_of_campaigns(above, below))

    replaced: dict[str, Callable[..., Estimate]] = {"across_campaigns": of_one, "ratio_of_campaigns": of_two}
    for name, wrong in replaced.items():
        monkeypatch.setattr(coverage, name, wrong)
    monkeypatch.setattr(coverage, "T_TRIALS", 400)
    monkeypatch.setattr(coverage, "RATIO_TRIALS", 150)
    assert not any(line.accepted for line in coverage.simulate() if sensitive(line))


def test_the_sample_quantile_is_drawn_as_sorting_would() -> None:
    """The Beta draw stands for sorting all operations: both have the same mean and spread."""
    dice = coverage.np.random.default_rng(5)
    side = coverage.Side(400, 0.0, spread=1.0)
    drawn = coverage.np.log(coverage._quantiles(side, "normal", 5, dice)).ravel()
    rank = math.ceil(coverage.FRACTION * coverage.OPERATIONS)
    operations = coverage.np.sort(dice.normal(0.0, 1.0, (2_000, coverage.OPERATIONS)), axis=1)
    sorted_out = operations[:, rank - 1]
    assert drawn.mean() == pytest.approx(sorted_out.mean(), abs=0.01)
    assert drawn.std() == pytest.approx(sorted_out.std(), rel=0.1)
