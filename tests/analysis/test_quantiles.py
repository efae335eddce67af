"""When a percentile may be printed: property tests of the gate."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.quantiles import (
    FRACTIONS,
    UPPER_CONFIDENCE,
    carried_quantile_us,
    carries,
    highest_fraction,
    operations_needed,
)
from bench.records.histogram import LatencyHistogram, bucket_ns

fractions = st.floats(min_value=0.01, max_value=0.9999)


@pytest.mark.parametrize(("fraction", "needed"), [(0.99, 368), (0.999, 3_688), (0.9999, 36_887)])
def test_the_known_sample_sizes(fraction: float, needed: int) -> None:
    assert operations_needed(fraction) == needed


@given(fractions)
def test_the_sample_size_is_the_smallest_that_bounds_the_quantile(fraction: float) -> None:
    needed = operations_needed(fraction)
    assert 1.0 - fraction**needed >= UPPER_CONFIDENCE - 1e-12
    assert needed == 1 or 1.0 - fraction ** (needed - 1) < UPPER_CONFIDENCE


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 1.5])
def test_a_fraction_without_a_bound_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        operations_needed(fraction)


@given(st.integers(min_value=1, max_value=1_000_000))
def test_a_curve_ends_exactly_where_the_gate_closes(operations: int) -> None:
    highest = highest_fraction(operations)
    assert highest is not None
    assert carries(operations, highest)
    assert not carries(operations, min(highest * (1.0 + 1e-6), 1.0 - 1e-15)) or highest > 1.0 - 1e-9


@given(st.integers(min_value=1, max_value=100_000), st.integers(min_value=1, max_value=100_000))
def test_more_operations_never_carry_less(few: int, many: int) -> None:
    low, high = sorted((few, many))
    assert (highest_fraction(low) or 0.0) <= (highest_fraction(high) or 0.0)


def test_no_operation_carries_nothing() -> None:
    assert highest_fraction(0) is None
    assert carried_quantile_us(LatencyHistogram(), 0.5) is None


@given(st.lists(st.integers(min_value=1, max_value=10**10), max_size=800), st.sampled_from(sorted(FRACTIONS.values())))
def test_a_quantile_is_given_only_where_carried_and_is_the_nearest_rank(values: list[int], fraction: float) -> None:
    histogram = LatencyHistogram()
    for value in values:
        histogram.record(value)
    got = carried_quantile_us(histogram, fraction)
    if len(values) < operations_needed(fraction):
        assert got is None
    else:
        rank = math.ceil(fraction * len(values) - 1e-9)
        assert got == bucket_ns(sorted(values)[rank - 1]) / 1_000.0
