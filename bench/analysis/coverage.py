"""How often the intervals of `bench.analysis.intervals` cover the truth: a seeded simulation in which it is known.

Each operation of a made-up run takes exp(campaign effect + run effect + spread * z) with z standard normal; the effects
are what the operations of one campaign and of one run share. A run gives its sample quantile at the nearest rank, as a
measured run does. The truth is the geometric mean over all possible runs, which is what `across_campaigns` and
`ratio_of_campaigns` estimate.

The sample quantile of n operations is drawn exactly and at once: the k-th smallest of n uniform values has the
distribution Beta(k, n + 1 - k) (David and Nagaraja, Order Statistics, section 2.1), and the rest is monotone.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from bench.analysis.intervals import across_campaigns, ratio_of_campaigns

SEED = 41
T_TRIALS = 2_000
RATIO_TRIALS = 1_000
ACCEPTED = (0.90, 0.98)  # the share of trials, for a nominal 95 %
FRACTION = 0.99
OPERATIONS = 2_000  # in one run
EFFECTS = ("normal", "skewed", "bimodal", "disturbed")
MODES_APART = 2.0  # bimodal: a server beside its client, or on the other processor
DISTURBED_SHARE, DISTURBED_TIMES = 0.1, 3.0  # of the runs, and how much slower: somebody else's work on the host

CAMPAIGN_EFFECT = 0.1

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """One made-up system: how many runs, how far runs, operations and campaigns differ (of the logarithm)."""

    runs: int  # in each campaign
    effect: float
    spread: float = 0.4
    campaigns: int = 1
    campaign_effect: float = 0.0


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


_ONE_CAMPAIGN = Side(6, 0.1, campaign_effect=CAMPAIGN_EFFECT)  # asked for the truth of many campaigns
_SEVERAL = Side(6, 0.1, campaigns=3, campaign_effect=CAMPAIGN_EFFECT)
_ALONE = (Side(6, 0.1), Side(10, 0.1), Side(20, 0.1), Side(6, 0.4), _SEVERAL)
_RATIOS = (
    (Side(6, 0.1), Side(6, 0.1)),
    (Side(6, 0.05), Side(6, 0.3, spread=0.7)),  # a calm system against one that depends on its day
    (Side(6, 0.2), Side(20, 0.1)),
    (Side(10, 0.1), Side(10, 0.3)),
    (Side(20, 0.1), Side(20, 0.1)),
    (_SEVERAL, _SEVERAL),
)


def simulate() -> Iterator[Coverage]:
    """Both intervals, for runs of several kinds: see `EFFECTS`. Takes a few seconds."""
    for effects in EFFECTS:
        for side in (*_ALONE, *([_ONE_CAMPAIGN] if effects == "normal" else [])):
            dice = np.random.default_rng((SEED, side.runs, side.campaigns))
            truth = _truth(side, effects)
            samples = _quantiles(side, effects, T_TRIALS, dice)
            hits = sum(across_campaigns(trial.tolist()).contains(truth) for trial in samples)
            yield Coverage("quantile", effects, (side,), T_TRIALS, hits / T_TRIALS)
        for above, below in _RATIOS:
            dice = np.random.default_rng((SEED, above.runs, below.runs, above.campaigns))
            pairs = zip(
                _quantiles(above, effects, RATIO_TRIALS, dice),
                _quantiles(below, effects, RATIO_TRIALS, dice),
                strict=True,
            )
            truth = _truth(above, effects) / _truth(below, effects)
            hits = sum(ratio_of_campaigns(one.tolist(), two.tolist()).contains(truth) for one, two in pairs)
            yield Coverage("ratio", effects, (above, below), RATIO_TRIALS, hits / RATIO_TRIALS)


def _truth(side: Side, effects: str) -> float:
    disturbance = DISTURBED_SHARE * math.log(DISTURBED_TIMES) if effects == "disturbed" else 0.0
    return math.exp(side.spread * float(ndtri(FRACTION)) + disturbance)


def _quantiles(side: Side, effects: str, trials: int, dice: np.random.Generator) -> _Floats:
    """Sample quantiles of shape (trials, campaigns, runs)."""
    shape = (trials, side.campaigns, side.runs)
    if effects == "skewed":
        # Gamma of shape 2, centred and scaled: most runs a little faster than the mean, a few much slower.
        effect = (dice.gamma(2.0, 1.0, shape) - 2.0) / math.sqrt(2.0) * side.effect
    else:
        effect = dice.normal(0.0, side.effect, shape)
    if effects == "bimodal":
        effect += (dice.integers(0, 2, shape) - 0.5) * math.log(MODES_APART)
    if effects == "disturbed":
        effect += (dice.random(shape) < DISTURBED_SHARE) * math.log(DISTURBED_TIMES)
    effect += dice.normal(0.0, 1.0, (trials, side.campaigns, 1)) * side.campaign_effect
    rank = math.ceil(FRACTION * OPERATIONS)
    within = side.spread * ndtri(dice.beta(rank, OPERATIONS + 1 - rank, shape))
    quantiles: _Floats = np.exp(effect + within)
    return quantiles
