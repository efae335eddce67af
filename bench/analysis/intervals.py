"""Intervals across runs. The run is the unit of replication: operations within one run share its mood.

One set of runs, six or more: a Student t interval on the logarithms (latencies are skewed and positive; their per-run
quantiles are close to log-normal), centred on the geometric mean.

Two sets of runs, six or more each: Welch's t interval of the difference of their mean logarithms, hence of the ratio of
their geometric means; see `ratio`.

Runs of three campaigns or more: the campaign is the unit, as the run was before. What a campaign's runs share (the
host's day, where the scheduler put a server) is in no variance within it, so only campaigns can show it.

Fewer than six: the median and the whole range, called by that name, because no distribution-free 95 % interval of a
median exists below six runs. docs/statistics.md says how often these intervals were seen to cover the truth.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scipy.special import stdtrit

CONFIDENCE = 0.95
RUNS_FOR_AN_INTERVAL = 6
CAMPAIGNS_FOR_AN_INTERVAL = 3
_MOST_UNITS = 60  # beyond that, the value lies at the edge for all that matters
_TAIL = (1.0 - CONFIDENCE) / 2.0


class Method(StrEnum):
    """How an estimate's bounds were made; printed beside them."""

    COUNT = "a count, the same in every run"
    ONE_RUN = "one run"
    RANGE = "median and range of the runs"
    T_LOG = "geometric mean and 95 % t interval of the logarithms"
    T_LOG_OF_CAMPAIGNS = "geometric mean and 95 % t interval of the campaigns' mean logarithms"
    ONE_MORE = "median and 95 % prediction interval of one more run"
    WELCH_LOG = "ratio of geometric means and Welch's 95 % t interval of the logarithms"
    WELCH_LOG_OF_CAMPAIGNS = "ratio of geometric means and Welch's 95 % t interval of the campaigns' mean logarithms"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value across runs with its bounds, all in one unit. For `ONE_RUN` the bounds equal the value."""

    value: float
    low: float
    high: float
    method: Method
    runs: int
    modes: tuple[float, ...] = ()  # the centres of two heaps into which the runs fall: `value` is then of no run

    def scaled(self, factor: float) -> "Estimate":
        """The same estimate in another unit."""
        modes = tuple(mode * factor for mode in self.modes)
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.method, self.runs, modes)

    @property
    def has_confidence(self) -> bool:
        """Are the bounds a confidence interval, rather than the range of a few runs?"""
        return self.method not in (Method.COUNT, Method.ONE_RUN, Method.RANGE)

    def contains(self, value: float) -> bool:
        """Does `value` lie within the bounds?"""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Spread:
    """How much values vary, as the standard deviation of a logarithm: 0.1 is about 10 %."""

    within: float  # one campaign's runs
    between: float  # campaigns, over what the runs within them explain


def across_runs(values: Sequence[float]) -> Estimate:
    """The estimate from one positive value a run. Raises ValueError when there is none, or one is not positive."""
    return across_campaigns([values])


def across_campaigns(campaigns: Sequence[Sequence[float]]) -> Estimate:
    """The estimate from one positive value a run, the runs by campaign. Two campaigns have a range and no interval."""
    values = _flat(campaigns)
    runs = len(values)
    if runs == 1:
        return Estimate(values[0], values[0], values[0], Method.ONE_RUN, 1)
    units = _units(campaigns)
    if units is None:
        return Estimate(statistics.median(values), min(values), max(values), Method.RANGE, runs)
    half = t_quantile(len(units) - 1) * math.sqrt(_variance(units) / len(units))
    method = Method.T_LOG if len(campaigns) == 1 else Method.T_LOG_OF_CAMPAIGNS
    return _from_logs(statistics.fmean(units), half, method, runs)


def one_more_run(values: Sequence[float]) -> Estimate:
    """Where one more run would lie, from one value a run: the median, which a disturbed run moves little, and Student's
    prediction interval of the logarithms.

    Wider than the interval of the mean, which says nothing about a single run. Fewer than six: median and range. Raises
    ValueError as `across_runs` does.
    """
    if len(values) < RUNS_FOR_AN_INTERVAL:
        return across_runs(values)
    logs = [math.log(value) for value in _flat([values])]
    half = t_quantile(len(logs) - 1) * math.sqrt(_variance(logs) * (1.0 + 1.0 / len(logs)))
    around = _from_logs(statistics.fmean(logs), half, Method.ONE_MORE, len(logs))
    return replace(around, value=statistics.median(values))


def median_bounds(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a median from order statistics (the sign test's), of any values; of few the range.

    Raises ValueError when there is none.
    """
    if not values:
        raise ValueError("no run to estimate from")
    ordered = sorted(values)
    tail, outside = 0.0, 0  # the probability that so many values or fewer lie below the median
    while outside < len(ordered) // 2:
        tail += math.comb(len(ordered), outside) / 2.0 ** len(ordered)
        if tail > _TAIL:
            break
        outside += 1
    # The `outside`-th smallest is the last that may be left out.
    place = max(0, outside - 1)
    return ordered[place], ordered[-1 - place]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    """How many times larger one set of runs is than another, which was measured in runs of its own.

    Six runs on each side: the ratio of the geometric means with Welch's t interval of the logarithms; the two sets need
    not vary alike. No resampling: a studentised bootstrap of six runs whose values lie in two modes divides by the tiny
    spread of resamples from one mode, and its bounds then lie outside of every pair of runs.

    Fewer than six: ratio of the medians, and the widest range that the runs allow. `runs` is the smaller count. The
    answer is the same in any order of the runs, and exchanging the sides inverts it.
    """
    return ratio_of_campaigns([numerators], [denominators])


def ratio_of_campaigns(numerators: Sequence[Sequence[float]], denominators: Sequence[Sequence[float]]) -> Estimate:
    """The same, the runs by campaign: with three campaigns on each side, these are the units of Welch's interval."""
    one, other = _flat(numerators), _flat(denominators)
    runs = min(len(one), len(other))
    above, below = _units(numerators), _units(denominators)
    if above is None or below is None or (len(numerators) == 1) != (len(denominators) == 1):
        value = statistics.median(one) / statistics.median(other)
        single = len(one) == len(other) == 1
        method = Method.ONE_RUN if single else Method.RANGE
        return Estimate(value, min(one) / max(other), max(one) / min(other), method, runs)
    method = Method.WELCH_LOG if len(numerators) == 1 else Method.WELCH_LOG_OF_CAMPAIGNS
    return _from_logs(*_welch(above, below), method, runs)


def _welch(above: Sequence[float], below: Sequence[float]) -> tuple[float, float]:
    """The difference of the means of two sets of logarithms, and half the width of its interval."""
    centre = statistics.fmean(above) - statistics.fmean(below)
    parts = [_variance(side) / len(side) for side in (above, below)]
    squared_error = sum(parts)
    if not squared_error > 0.0:
        return centre, 0.0
    # Welch and Satterthwaite: as many degrees of freedom as the smaller side has, at least.
    shares = [part / squared_error for part in parts]
    freedom = 1.0 / sum(share**2 / (len(side) - 1) for share, side in zip(shares, (above, below), strict=True))
    return centre, t_quantile(freedom) * math.sqrt(squared_error)


def spread(campaigns: Sequence[Sequence[float]]) -> Spread | None:
    """Both parts of the variation, by moments (one-way analysis of variance); None: not two campaigns of two runs."""
    groups = [[math.log(value) for value in values] for values in campaigns if len(values) > 1]
    if len(groups) < 2:
        return None
    freedom = sum(len(group) - 1 for group in groups)
    within = sum(_variance(group) * (len(group) - 1) for group in groups) / freedom
    means = [statistics.fmean(group) for group in groups]
    explained = statistics.fmean([within / len(group) for group in groups])
    # Means of runs vary from campaign to campaign even where campaigns are alike; what is beyond that is theirs.
    return Spread(math.sqrt(within), math.sqrt(max(0.0, _variance(means) - explained)))


def decisive_bounds(campaigns: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The 95 % interval by which a claim is judged; None for one run, which decides nothing.

    Also of two to five runs, whose cells show a range: Student's t is so much wider there that it decides only what is
    far off, where a range of two runs would miss the truth every other time.
    """
    units = _decisive_units(campaigns)
    if units is None:
        return None
    half = t_quantile(len(units) - 1) * math.sqrt(_variance(units) / len(units))
    centre = statistics.fmean(units)
    return math.exp(centre - half), _exp(centre + half)


def decisive_ratio(
    numerators: Sequence[Sequence[float]], denominators: Sequence[Sequence[float]]
) -> tuple[float, float] | None:
    """The same for how many times larger one set of runs is than another; None where either side has one run."""
    above, below = _decisive_units(numerators), _decisive_units(denominators)
    if above is None or below is None:
        return None
    centre, half = _welch(above, below)
    return math.exp(centre - half), _exp(centre + half)


def units_needed(campaigns: Sequence[Sequence[float]], edge: float) -> int | None:
    """How many runs (of several campaigns: campaigns) that vary as these would tell their mean from `edge`.

    None: not known from one run, or more than anybody would measure.
    """
    units = _decisive_units(campaigns)
    if units is None or edge <= 0.0:
        return None
    distance, deviation = abs(statistics.fmean(units) - math.log(edge)), math.sqrt(_variance(units))
    wanted = (
        count for count in range(2, _MOST_UNITS + 1) if t_quantile(count - 1) * deviation < distance * math.sqrt(count)
    )
    return next(wanted, None)


def _decisive_units(campaigns: Sequence[Sequence[float]]) -> list[float] | None:
    _flat(campaigns)
    logs = [[math.log(value) for value in values] for values in campaigns]
    units = logs[0] if len(logs) == 1 else [statistics.fmean(one) for one in logs]
    return units if len(units) > 1 else None


def _units(campaigns: Sequence[Sequence[float]]) -> list[float] | None:
    """The logarithms behind an interval: of the runs of one campaign, or the means of several; None: too few."""
    logs = [[math.log(value) for value in values] for values in campaigns]
    if len(logs) == 1:
        return logs[0] if len(logs[0]) >= RUNS_FOR_AN_INTERVAL else None
    return [statistics.fmean(one) for one in logs] if len(logs) >= CAMPAIGNS_FOR_AN_INTERVAL else None


def _variance(values: Sequence[float]) -> float:
    """With exact sums, so that the order of the runs does not matter to the last digit."""
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _from_logs(centre: float, half: float, method: Method, runs: int) -> Estimate:
    return Estimate(math.exp(centre), math.exp(centre - half), _exp(centre + half), method, runs)


def _exp(exponent: float) -> float:
    """exp, and infinity where that is more than a float holds: a bound so far away says nothing else."""
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def t_quantile(freedom: float) -> float:
    """Student's t beyond which half of what a 95 % interval leaves out lies."""
    return float(stdtrit(freedom, 1.0 - _TAIL))


def _flat(campaigns: Sequence[Sequence[float]]) -> list[float]:
    values = [value for one in campaigns for value in one]
    if not values or not all(campaigns):
        raise ValueError("no run to estimate from")
    for value in values:
        if not value > 0.0 or math.isinf(value):
            raise ValueError(f"{value} is not a positive finite value: it has no logarithm")
    return values
