"""Nominal 95 % intervals cover the truth in 90 to 98 % of seeded trials; one of a wrong width does not."""

import math
import time
from collections.abc import Callable, Sequence

import pytest

from bench.analysis import coverage
from bench.analysis.intervals import Estimate, across_runs, ratio

WITHIN_S = 20.0  # of processor time, for the whole simulation


def test_intervals_cover_the_truth_as_often_as_they_promise() -> None:
    started_s = time.process_time()
    lines = list(coverage.simulate())
    told = [(line.interval, line.effects, [side.runs for side in line.sides], line.share) for line in lines]
    assert all(line.accepted for line in lines), told
    assert {line.interval for line in lines} == {"quantile", "ratio"}
    runs = {side.runs for line in lines for side in line.sides}
    assert (min(runs), max(runs)) == (6, 20)
    assert time.process_time() - started_s <= WITHIN_S


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

    def of_one(values: Sequence[float]) -> Estimate:
        return stretched(across_runs(values))

    def of_two(above: Sequence[float], below: Sequence[float]) -> Estimate:
        return stretched(ratio(above, below))

    replaced: dict[str, Callable[..., Estimate]] = {"across_runs": of_one, "ratio": of_two}
    for name, wrong in replaced.items():
        monkeypatch.setattr(coverage, name, wrong)
    monkeypatch.setattr(coverage, "T_TRIALS", 400)
    monkeypatch.setattr(coverage, "RATIO_TRIALS", 150)
    assert not any(line.accepted for line in coverage.simulate())


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
