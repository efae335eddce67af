"""Intervals across runs. The run is the unit of replication: operations within one run share its mood.

One set of runs, six or more: a Student t interval on the logarithms (latencies are skewed and positive; their per-run
quantiles are close to log-normal), centred on the geometric mean.

Two sets of runs, six or more each: a studentised bootstrap of the ratio of their geometric means. Whole runs are drawn
with replacement within each set, never operations; see `ratio`.

Fewer than six: the median and the whole range, called by that name, because no distribution-free 95 % interval of a
median exists below six runs. docs/statistics.md says how often these intervals were seen to cover the truth.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

CONFIDENCE = 0.95
RUNS_FOR_AN_INTERVAL = 6
RESAMPLES = 2_000  # even: each half is the other one with its sides exchanged, see `_resampled`
RESAMPLING_SEED = 20_250
_TAIL = (1.0 - CONFIDENCE) / 2.0

_Floats = npt.NDArray[np.float64]
_Indices = npt.NDArray[np.intp]


class Method(StrEnum):
    """How an estimate's bounds were made; printed beside them."""

    ONE_RUN = "one run"
    RANGE = "median and range of the runs"
    T_LOG = "geometric mean and 95 % t interval of the logarithms"
    BOOTSTRAP = "ratio of geometric means and 95 % studentised bootstrap over runs"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value across runs with its bounds, all in one unit. For `ONE_RUN` the bounds equal the value."""

    value: float
    low: float
    high: float
    method: Method
    runs: int

    def scaled(self, factor: float) -> "Estimate":
        """The same estimate in another unit."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.method, self.runs)

    @property
    def has_confidence(self) -> bool:
        """Are the bounds a confidence interval, rather than the range of a few runs?"""
        return self.method in (Method.T_LOG, Method.BOOTSTRAP)

    def contains(self, value: float) -> bool:
        """Does `value` lie within the bounds?"""
        return self.low <= value <= self.high


def across_runs(values: Sequence[float]) -> Estimate:
    """The estimate from one positive value a run. Raises ValueError when there is none, or one is not positive."""
    _check(values)
    runs = len(values)
    if runs == 1:
        return Estimate(values[0], values[0], values[0], Method.ONE_RUN, 1)
    if runs < RUNS_FOR_AN_INTERVAL:
        return Estimate(statistics.median(values), min(values), max(values), Method.RANGE, runs)
    logs = [math.log(value) for value in values]
    half = _t(runs - 1) * statistics.stdev(logs) / math.sqrt(runs)
    centre = statistics.fmean(logs)
    return _from_logs(centre, centre - half, centre + half, Method.T_LOG, runs)


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """How many times larger one set of runs is than another, which was measured in runs of its own.

    Six runs on each side: the ratio of the geometric means with a studentised ("bootstrap-t") interval on the log
    scale (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 12). The plain percentile bootstrap is not
    used: with six runs it covered 85 to 90 % here where it promised 95 %, because a resample of six varies less than
    six new runs would. Dividing each resample's difference by its own standard error mends that, and follows a skewed
    distribution of the runs, which a t interval does not.

    Fewer than six: ratio of the medians, and the widest range that the runs allow. `runs` is the smaller count. The
    answer is the same on every machine and in any order of the runs, and exchanging the sides inverts it.
    """
    _check(numerators)
    _check(denominators)
    runs = min(len(numerators), len(denominators))
    if runs < RUNS_FOR_AN_INTERVAL:
        value = statistics.median(numerators) / statistics.median(denominators)
        low, high = min(numerators) / max(denominators), max(numerators) / min(denominators)
        single = len(numerators) == len(denominators) == 1
        return Estimate(value, low, high, Method.ONE_RUN if single else Method.RANGE, runs)
    above = np.sort(np.log(np.asarray(numerators, dtype=np.float64)))
    below = np.sort(np.log(np.asarray(denominators, dtype=np.float64)))
    centre = float(above.mean() - below.mean())
    error = math.sqrt(_squared_error(above) + _squared_error(below))
    if error <= _ROUNDING:
        # Runs that agree to the last digit leave nothing to resample.
        return _from_logs(centre, centre, centre, Method.BOOTSTRAP, runs)
    lower_t, upper_t = _t_quantiles(above, below, centre)
    if not (math.isfinite(lower_t) and math.isfinite(upper_t)):
        return _welch(above, below, centre, error, runs)
    return _from_logs(centre, centre - upper_t * error, centre - lower_t * error, Method.BOOTSTRAP, runs)


_ROUNDING = 1e-12  # of a logarithm: below any difference that a clock of nanoseconds can show


def _t_quantiles(above: _Floats, below: _Floats, centre: float) -> tuple[float, float]:
    """Both ends of the resampled distribution of (difference - observed difference) / its own standard error."""
    one, two = _resampled(above, below)
    differences = one.mean(axis=1) - two.mean(axis=1) - centre
    errors = np.sqrt(_squared_error(one) + _squared_error(two))
    # A resample without any spread would make its difference infinitely many standard errors large: it counts as that.
    # Where all runs are different, that needs the same run drawn every time on both sides: for six, once in 60 million.
    infinite = np.where(np.abs(differences) <= _ROUNDING, 0.0, np.copysign(np.inf, differences))
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.where(errors <= _ROUNDING, infinite, differences / errors)
    # An order statistic rather than an interpolation: between a finite and an infinite value there is no half-way.
    ordered = np.sort(quotients)
    place = round(_TAIL * (RESAMPLES - 1))
    return float(ordered[place]), float(ordered[-1 - place])


def _resampled(above: _Floats, below: _Floats) -> tuple[_Floats, _Floats]:
    """Resamples of both sets, of shape (RESAMPLES, runs): in the second half the sides exchange their random numbers.

    Hence ratio(a, b) and ratio(b, a) see the same resamples, and one is exactly the inverse of the other.
    """
    one = np.concatenate([_draws(len(above), 0), _draws(len(above), 1)])
    two = np.concatenate([_draws(len(below), 1), _draws(len(below), 0)])
    return above[one], below[two]


@lru_cache(maxsize=64)
def _draws(runs: int, stream: int) -> _Indices:
    """Which runs each resample of half the resamples consists of: seeded, so that a rendering repeats itself."""
    dice = np.random.default_rng((RESAMPLING_SEED, runs, stream))
    return dice.integers(0, runs, size=(RESAMPLES // 2, runs))


def _squared_error(logs: _Floats) -> npt.NDArray[np.float64]:
    """The squared standard error of a mean, along the last axis."""
    squared: npt.NDArray[np.float64] = np.var(logs, axis=-1, ddof=1) / logs.shape[-1]
    return squared


def _welch(above: _Floats, below: _Floats, centre: float, error: float, runs: int) -> Estimate:
    """Welch's t interval, for sets in which so many runs are equal that resamples without spread are no rarity."""
    part_above, part_below = float(_squared_error(above)), float(_squared_error(below))
    # Welch-Satterthwaite: the two sets of runs need not vary alike.
    freedom = error**4 / (part_above**2 / (len(above) - 1) + part_below**2 / (len(below) - 1))
    half = _t(freedom) * error
    return _from_logs(centre, centre - half, centre + half, Method.T_LOG, runs)


def _from_logs(centre: float, low: float, high: float, method: Method, runs: int) -> Estimate:
    return Estimate(math.exp(centre), math.exp(low), _exp(high), method, runs)


def _exp(exponent: float) -> float:
    """exp, and infinity where that is more than a float holds: a bound so far away says nothing else."""
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def _t(freedom: float) -> float:
    return float(stdtrit(freedom, 1.0 - _TAIL))


def _check(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("no run to estimate from")
    for value in values:
        if not value > 0.0 or math.isinf(value):
            raise ValueError(f"{value} is not a positive finite value: it has no logarithm")
