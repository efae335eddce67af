"""How often the intervals of `bench.analysis.intervals` cover the truth: a seeded simulation in which it is known.

Each operation of a made-up run takes exp(run effect + spread * z) with z standard normal; the run effect is what one
run's operations share. A run gives its sample quantile at the nearest rank, as a measured run does. The truth is the
geometric mean over all possible runs, which is what `across_runs` and `ratio` estimate.

The sample quantile of n operations is drawn exactly and at once: the k-th smallest of n uniform values has the
distribution Beta(k, n + 1 - k) (David and Nagaraja, Order Statistics, section 2.1), and the rest is monotone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from bench.analysis.intervals import across_runs, ratio

SEED = 41
T_TRIALS = 2_000
RATIO_TRIALS = 1_000
ACCEPTED = (0.90, 0.98)  # the share of trials, for a nominal 95 %
FRACTION = 0.99
OPERATIONS = 2_000  # in one run
EFFECTS = ("normal", "skewed")

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """One made-up system: how many runs, how far runs differ and how far operations differ (of the logarithm)."""

    runs: int
    effect: float
    spread: float = 0.4


@dataclass(frozen=True, slots=True)
class Coverage:
    """One line of the result: `share` of `trials` intervals contained the truth."""

    interval: str
    effects: str
    sides: tuple[Side, ...]
    trials: int
    share: float

    @property
    def accepted(self) -> bool:
        return ACCEPTED[0] <= self.share <= ACCEPTED[1]


_ALONE = (Side(6, 0.1), Side(10, 0.1), Side(20, 0.1), Side(6, 0.4))
_RATIOS = (
    (Side(6, 0.1), Side(6, 0.1)),
    (Side(6, 0.05), Side(6, 0.3, spread=0.7)),  # a calm system against one that depends on its day
    (Side(6, 0.2), Side(20, 0.1)),
    (Side(10, 0.1), Side(10, 0.3)),
    (Side(20, 0.1), Side(20, 0.1)),
)


def simulate() -> Iterator[Coverage]:
    """Both intervals, for runs whose effects are log-normal, and skewed beyond that. Takes a few seconds."""
    for effects in EFFECTS:
        for side in _ALONE:
            dice = np.random.default_rng((SEED, side.runs))
            samples = _quantiles(side, effects, T_TRIALS, dice)
            hits = sum(across_runs(list(runs)).contains(_truth(side)) for runs in samples)
            yield Coverage("quantile", effects, (side,), T_TRIALS, hits / T_TRIALS)
        for above, below in _RATIOS:
            dice = np.random.default_rng((SEED, above.runs, below.runs))
            pairs = zip(
                _quantiles(above, effects, RATIO_TRIALS, dice),
                _quantiles(below, effects, RATIO_TRIALS, dice),
                strict=True,
            )
            truth = _truth(above) / _truth(below)
            hits = sum(ratio(list(one), list(two)).contains(truth) for one, two in pairs)
            yield Coverage("ratio", effects, (above, below), RATIO_TRIALS, hits / RATIO_TRIALS)


def _truth(side: Side) -> float:
    return math.exp(side.spread * float(ndtri(FRACTION)))


def _quantiles(side: Side, effects: str, trials: int, dice: np.random.Generator) -> _Floats:
    """Sample quantiles of shape (trials, runs)."""
    shape = (trials, side.runs)
    if effects == "normal":
        effect = dice.normal(0.0, side.effect, shape)
    else:
        # Gamma of shape 2, centred and scaled: most runs a little faster than the mean, a few much slower.
        effect = (dice.gamma(2.0, 1.0, shape) - 2.0) / math.sqrt(2.0) * side.effect
    rank = math.ceil(FRACTION * OPERATIONS)
    within = side.spread * ndtri(dice.beta(rank, OPERATIONS + 1 - rank, shape))
    quantiles: _Floats = np.exp(effect + within)
    return quantiles
