"""Did a run stay as it was: is there a trend in its throughput or in its latency from slice to slice of the window?
And are the runs of a cell exchangeable: is there a trend in their order?

A trend is reported only when it is both *certain* (the Mann-Kendall test over the slices: Mann, Econometrica 13, 1945;
Kendall, Rank Correlation Methods) and *large* (the line of Theil and Sen through the slices). Certainty alone would
accuse every long run, in which the smallest drift is certain; size alone every short one. The test looks at ranks: one
slice with a pause in it is no trend, while a step in the middle is one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

SLICES = 20
OPERATIONS_NEEDED = 10 * SLICES
SURE = 0.01  # probability of as clear a trend where there is none
LARGE = 0.2  # change from the beginning of the window to its end, as a share of the median slice
# Of a few runs nothing is as sure as of twenty slices: six have 720 orders, of which a rise without a single step back
# is one. A false alarm costs a footnote, a missed trend an interval that means nothing; so one order in ten is enough,
# where the change is large as well.
SURE_OF_RUNS = 0.1
_EXACT_TO = 20  # runs: from there on the normal approximation is as good

Column = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """How a quantity changed across the window, as a share of its median, and how likely that is by chance."""

    change: float
    chance: float
    sure: float = SURE

    @property
    def steady(self) -> bool:
        return self.chance >= self.sure or abs(self.change) < LARGE


def throughput_trend(instants_ns: Column, window_s: float) -> Trend | None:
    """The trend of operations by slice, from their instants; None where there are too few to tell."""
    if len(instants_ns) < OPERATIONS_NEEDED:
        return None
    return trend(np.bincount(_slices(instants_ns, window_s), minlength=SLICES).astype(np.float64))


def latency_trend(instants_ns: Column, latencies_ns: Column, window_s: float) -> Trend | None:
    """The trend of the median latency by slice; None where there are too few operations to tell.

    Slices without an operation have no median and are left out.
    """
    if len(instants_ns) < OPERATIONS_NEEDED:
        return None
    slices = _slices(instants_ns, window_s)
    order = np.argsort(slices, kind="stable")
    parts = np.split(latencies_ns[order], np.cumsum(np.bincount(slices, minlength=SLICES))[:-1])
    return trend(np.array([np.median(part) for part in parts if len(part)], dtype=np.float64))


def trend(series: _Floats) -> Trend | None:
    """The trend of equally spaced values; None for fewer than four, of which no order is unlikely, or a median of 0."""
    size = len(series)
    if size < 4 or np.median(series) <= 0:
        return None
    earlier, later = np.triu_indices(size, 1)
    differences = series[later] - series[earlier]
    score = float(np.sign(differences).sum())
    _, ties = np.unique(series, return_counts=True)
    variance = (_spread(size) - float(_spread(ties).sum())) / 18.0
    # One is taken off since the score is a whole number of an even step: the usual correction for continuity.
    deviations = max(0.0, abs(score) - 1.0) / math.sqrt(variance) if variance > 0 else 0.0
    slope = float(np.median(differences / (later - earlier)))
    return Trend(slope * (size - 1) / float(np.median(series)), math.erfc(deviations / math.sqrt(2.0)))


def order_trend(values: Sequence[float]) -> Trend | None:
    """The trend of a cell's runs, one value each, in the order in which they ran; None for fewer than four.

    Mann-Kendall again, by its exact distribution: with six runs the approximation is off by half. Of four runs only
    one that rises (or falls) at every step can be certain (chance 0.08), of six one with at most two pairs out of order
    (0.056). Ties count as no evidence.
    """
    found = trend(np.array(values, dtype=np.float64))
    if found is None:
        return None
    chance = found.chance
    if len(values) <= _EXACT_TO:
        signs = [np.sign(later - earlier) for place, earlier in enumerate(values) for later in values[place + 1 :]]
        chance = _chance_of_order(len(values), abs(int(sum(signs))))
    return Trend(found.change, chance, SURE_OF_RUNS)


def _chance_of_order(size: int, score: int) -> float:
    """How many of all orders of `size` values have a Kendall score as far from 0 as this, as a share."""
    pairs = size * (size - 1) // 2
    counts = _inversions(size)
    as_far = sum(count for inverted, count in enumerate(counts) if abs(pairs - 2 * inverted) >= score)
    return as_far / math.factorial(size)


@cache
def _inversions(size: int) -> tuple[int, ...]:
    """The number of orders of `size` values by the number of pairs that are out of order."""
    if size < 2:
        return (1,)
    fewer = _inversions(size - 1)  # the largest value stands before 0 to size - 1 of the others
    pairs = size * (size - 1) // 2
    return tuple(sum(fewer[max(0, many - size + 1) : many + 1]) for many in range(pairs + 1))


def _spread(size: int | Column) -> Column:
    sizes = np.asarray(size, dtype=np.int64)
    spread: Column = sizes * (sizes - 1) * (2 * sizes + 5)
    return spread


def _slices(instants_ns: Column, window_s: float) -> Column:
    """The slice of each instant. The window is taken to begin with the first one: its own edge is in no record."""
    within = (instants_ns - instants_ns.min()) / (window_s * 1e9)
    slices: Column = np.minimum((within * SLICES).astype(np.int64), SLICES - 1)
    return slices
