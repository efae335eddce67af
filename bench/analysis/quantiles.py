"""Quantiles of one run, and when a sample is too small to carry one.

A quantile at fraction q is printed only where the sample is large enough to have an upper confidence bound for it at
all: the largest of n values exceeds the true quantile with probability 1 - q**n, and that must reach 97.5 % (the upper
half of a two-sided 95 % interval from order statistics; Hahn and Meeker, Statistical Intervals, on distribution-free
bounds). Hence 368 operations for p99 and 3 688 for p99.9. Below that, "p99" would be the sample's maximum under another
name.
"""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.records.histogram import LatencyHistogram

UPPER_CONFIDENCE = 0.975

# Name in columns -> fraction of the sample at or below. `p999` is the 99.9th percentile: a dot cannot be in a name.
FRACTIONS: Mapping[str, float] = MappingProxyType({"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999})


def operations_needed(fraction: float) -> int:
    """The smallest sample that carries the quantile at `fraction` (above 0, below 1). Raises ValueError outside."""
    if not 0.0 < fraction < 1.0:
        raise ValueError(f"a quantile with a bound lies between 0 and 1, not at {fraction}")
    return max(1, math.ceil(math.log(1.0 - UPPER_CONFIDENCE) / math.log(fraction)))


def carries(operations: int, fraction: float) -> bool:
    """Is a sample of `operations` values large enough for the quantile at `fraction`?"""
    return operations >= operations_needed(fraction)


def highest_fraction(operations: int) -> float | None:
    """The highest fraction that a sample of `operations` values carries: where a percentile curve ends.

    None for an empty sample.
    """
    if operations < 1:
        return None
    # A hair below the exact root: rounding must never let a curve run one operation further than `carries` allows.
    return math.pow(1.0 - UPPER_CONFIDENCE, 1.0 / operations) * (1.0 - 1e-12)


def nearest_rank(values: npt.NDArray[Any], fraction: float) -> Any:
    """The smallest of the values that so large a share of them does not exceed. The array must not be empty."""
    rank = max(1, math.ceil(fraction * len(values) - 1e-9))
    return np.partition(values, rank - 1)[rank - 1]


def carried_quantiles_us(name: str, values_ns: npt.NDArray[Any], of: Iterable[str]) -> dict[str, float]:
    """In µs by `name` and the quantile's, of a sample in ns. Left out is what so few values do not carry."""
    return {
        f"{name}_{one}": float(nearest_rank(values_ns, FRACTIONS[one])) / 1e3
        for one in of
        if carries(len(values_ns), FRACTIONS[one])
    }


def carried_quantile_us(histogram: LatencyHistogram, fraction: float) -> float | None:
    """The quantile in µs, or None where the sample is too small to carry it."""
    if not carries(histogram.total, fraction):
        return None
    quantile_ns = histogram.quantile_ns(fraction)
    return None if quantile_ns is None else quantile_ns / 1_000.0
