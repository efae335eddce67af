"""Each system's cost as a share of what all systems cost in the same campaign.

A machine is faster in one hour than in another, above all a virtual one: of two campaigns in a row, the second was 8 to
25 % slower in every median and in every processor time. What is common to all systems drops out of their ratios to each
other. So these travel where the costs themselves do not.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bench.analysis.intervals import CAMPAIGNS_FOR_AN_INTERVAL, Estimate, Method, t_quantile

SYSTEMS_AT_LEAST = 3  # of two, one says all that the other does
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Share:
    """The logarithm of a cost by the geometric mean of all costs, with the variance of that estimate."""

    centre: float
    variance: float
    freedom: float
    runs: int
    of_campaigns: bool

    def estimate(self) -> Estimate:
        """With its 95 % t interval."""
        method = Method.T_LOG_OF_CAMPAIGNS if self.of_campaigns else Method.T_LOG
        return _estimate(self.centre, self.variance, self.freedom, method, self.runs)

    def over(self, other: "Share") -> Estimate:
        """How many times larger it is than another body's, with Welch's interval.

        One campaign beside several tells nothing of how campaigns differ; it is taken to vary as each of those does.
        """
        one, two = self._as_beside(other), other._as_beside(self)
        parts = ((one.variance, one.freedom), (two.variance, two.freedom))
        method = Method.WELCH_LOG_OF_CAMPAIGNS if self.of_campaigns or other.of_campaigns else Method.WELCH_LOG
        # What comes of one variance twice is no better known for it.
        freedom = one.freedom if self.of_campaigns != other.of_campaigns else _satterthwaite(parts)
        return _estimate(
            self.centre - other.centre, one.variance + two.variance, freedom, method, min(self.runs, other.runs)
        )

    def _as_beside(self, other: "Share") -> "Share":
        if self.of_campaigns or not other.of_campaigns:
            return self
        of_one_campaign = other.variance * (other.freedom + 1.0)
        return replace(self, variance=max(self.variance, of_one_campaign), freedom=other.freedom)


def shares(costs: Mapping[_Key, Sequence[Sequence[float]]]) -> Mapping[_Key, Share]:
    """The share of each, from one positive value a run, the runs by campaign.

    Empty where there is too little to tell: fewer than three systems, unlike campaigns, one run of a system, or two
    campaigns (which show that campaigns differ, and not by how much).
    """
    counts = {len(campaigns) for campaigns in costs.values()}
    if len(costs) < SYSTEMS_AT_LEAST or len(counts) != 1:
        return {}
    logs = {key: [[math.log(value) for value in runs] for runs in campaigns] for key, campaigns in costs.items()}
    if counts == {1}:
        return _of_runs({key: campaigns[0] for key, campaigns in logs.items()})
    return _of_campaigns(logs) if min(counts) >= CAMPAIGNS_FOR_AN_INTERVAL else {}


def _of_runs(logs: Mapping[_Key, Sequence[float]]) -> Mapping[_Key, Share]:
    if any(len(runs) < 2 for runs in logs.values()):
        return {}
    means = {key: statistics.fmean(runs) for key, runs in logs.items()}
    level, count = statistics.fmean(means.values()), len(logs)
    squared_errors = {key: statistics.variance(runs) / len(runs) for key, runs in logs.items()}
    found = {}
    for key in logs:
        # The level contains the system itself, by one part of `count`.
        weights = {other: (1 - 1 / count if other == key else 1 / count) for other in logs}
        parts = [(weights[other] ** 2 * squared_errors[other], len(logs[other]) - 1.0) for other in logs]
        variance = math.fsum(part for part, _ in parts)
        found[key] = Share(means[key] - level, variance, _satterthwaite(parts), len(logs[key]), of_campaigns=False)
    return found


def _of_campaigns(logs: Mapping[_Key, Sequence[Sequence[float]]]) -> Mapping[_Key, Share]:
    """The campaign is the unit, as for every interval."""
    means = {key: [statistics.fmean(runs) for runs in campaigns] for key, campaigns in logs.items()}
    levels = [statistics.fmean(of_all) for of_all in zip(*means.values(), strict=True)]
    found = {}
    for key, of_campaigns in means.items():
        units = [mean - level for mean, level in zip(of_campaigns, levels, strict=True)]
        variance = statistics.variance(units) / len(units)
        runs = sum(map(len, logs[key]))
        found[key] = Share(statistics.fmean(units), variance, len(units) - 1.0, runs, of_campaigns=True)
    return found


def _satterthwaite(parts: Sequence[tuple[float, float]]) -> float:
    """The degrees of freedom of a sum of variances, each with its own."""
    total = math.fsum(part for part, _ in parts)
    if total == 0.0:
        return min(freedom for _, freedom in parts)
    return 1.0 / math.fsum((part / total) ** 2 / freedom for part, freedom in parts)


def _estimate(centre: float, variance: float, freedom: float, method: Method, runs: int) -> Estimate:
    half = t_quantile(freedom) * math.sqrt(variance)
    return Estimate(math.exp(centre), math.exp(centre - half), math.exp(centre + half), method, runs)
