"""Intervals across runs. The run is the unit of replication: operations within one run share its mood.

With six or more runs: a Student t interval on the logarithms (latencies are skewed and positive; their per-run
quantiles are close to log-normal), centred on the geometric mean. With fewer: the median and the whole range, called by
that name, because no distribution-free 95 % interval of a median exists below six runs.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from scipy.special import stdtrit

RUNS_FOR_AN_INTERVAL = 6
_UPPER_TAIL = 0.975


class Method(StrEnum):
    """How an estimate's bounds were made; printed beside them."""

    ONE_RUN = "one run"
    RANGE = "median and range of the runs"
    T_LOG = "geometric mean and 95 % t interval of the logarithms"


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
    return _from_logs(statistics.fmean(logs), half, runs)


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """How many times larger one set of runs is than another, which was measured in runs of its own.

    Six runs on each side: Welch's t interval on the difference of the logarithms. Fewer: ratio of the medians, and the
    widest range that the runs allow. `runs` is the smaller of the two counts.
    """
    _check(numerators)
    _check(denominators)
    runs = min(len(numerators), len(denominators))
    if runs < RUNS_FOR_AN_INTERVAL:
        value = statistics.median(numerators) / statistics.median(denominators)
        low, high = min(numerators) / max(denominators), max(numerators) / min(denominators)
        single = len(numerators) == len(denominators) == 1
        return Estimate(value, low, high, Method.ONE_RUN if single else Method.RANGE, runs)
    above = [math.log(value) for value in numerators]
    below = [math.log(value) for value in denominators]
    part_above = statistics.variance(above) / len(above)
    part_below = statistics.variance(below) / len(below)
    spread = part_above + part_below
    half = 0.0
    if spread > 0.0:
        # Welch-Satterthwaite: the two sets of runs need not vary alike.
        freedom = spread**2 / (part_above**2 / (len(above) - 1) + part_below**2 / (len(below) - 1))
        half = _t(freedom) * math.sqrt(spread)
    return _from_logs(statistics.fmean(above) - statistics.fmean(below), half, runs)


def _from_logs(centre: float, half: float, runs: int) -> Estimate:
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), Method.T_LOG, runs)


def _t(freedom: float) -> float:
    return float(stdtrit(freedom, _UPPER_TAIL))


def _check(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("no run to estimate from")
    for value in values:
        if not value > 0.0 or math.isinf(value):
            raise ValueError(f"{value} is not a positive finite value: it has no logarithm")
