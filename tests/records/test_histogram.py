"""Histograms merge exactly, keep every value, and answer quantiles within their bucket's width."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.records.histogram import LatencyHistogram, bucket_ns

HOUR_NS = 3_600_000_000_000
values = st.lists(st.integers(1, HOUR_NS), min_size=1, max_size=200)


def of(sample: list[int]) -> LatencyHistogram:
    histogram = LatencyHistogram()
    for value in sample:
        histogram.record(value)
    return histogram


@given(st.integers(0, HOUR_NS))
def test_a_bucket_is_within_a_thousandth(value: int) -> None:
    assert 0 <= value - bucket_ns(value) <= value / 1_000
    assert bucket_ns(bucket_ns(value)) == bucket_ns(value)


@given(values, values)
def test_merging_is_recording_both(left: list[int], right: list[int]) -> None:
    merged = LatencyHistogram.merged([of(left), of(right)])
    assert merged.counts == of(left + right).counts
    assert merged.total == len(left) + len(right)


@given(values)
def test_text_form_keeps_every_count(sample: list[int]) -> None:
    assert LatencyHistogram.decode(of(sample).encode()).counts == of(sample).counts


@given(values, st.floats(0, 1))
def test_a_quantile_is_the_bucket_of_the_nearest_rank(sample: list[int], fraction: float) -> None:
    rank = max(1, math.ceil(fraction * len(sample) - 1e-9))
    assert of(sample).quantile_ns(fraction) == bucket_ns(sorted(sample)[rank - 1])


@given(values, st.floats(0, 1))
def test_a_decoded_histogram_answers_as_the_recorded_one(sample: list[int], fraction: float) -> None:
    recorded, decoded = of(sample), LatencyHistogram.decode(of(sample).encode())
    assert decoded.quantile_ns(fraction) == recorded.quantile_ns(fraction)
    assert (decoded.total, decoded.mean_ns()) == (recorded.total, recorded.mean_ns())
    assert decoded.encode() == recorded.encode()
    assert LatencyHistogram.merged([decoded, recorded]).counts == of(sample + sample).counts
    decoded.record(sample[0])
    assert decoded.counts == of([*sample, sample[0]]).counts
    assert decoded.total == len(sample) + 1


@pytest.mark.parametrize("value", [-1, HOUR_NS + 1])
def test_nothing_is_dropped_silently(value: int) -> None:
    with pytest.raises(ValueError, match="a clock went wrong"):
        LatencyHistogram().record(value)


def test_zero_survives_the_text_form_as_one_nanosecond() -> None:
    assert LatencyHistogram.decode(of([0, 0]).encode()).counts == {1: 2}


def test_an_empty_histogram_has_no_quantile() -> None:
    assert LatencyHistogram().quantile_ns(0.5) is None
    assert LatencyHistogram.decode(LatencyHistogram().encode()).total == 0


@pytest.mark.parametrize("text", ["", "HISTFAAAA", "not base64 at all"])
def test_broken_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an encoded histogram"):
        LatencyHistogram.decode(text)
