"""How late something due at any instant would run: held against every instant, one by one."""

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.network.lateness import Late, Lateness, NotCarried
from bench.analysis.quantiles import operations_needed
from bench.records.histogram import LatencyHistogram
from bench.records.pauses import Pauses

INTERVAL_NS = 1_000_000


def record(late_ns: Sequence[int], observed_s: float = 1.0) -> Lateness:
    histogram = LatencyHistogram()
    for one in late_ns:
        histogram.record(one)
    return Lateness(
        Pauses(
            started_at="2001-01-01T00:00:00+00:00",
            observed_s=observed_s,
            interval_ns=INTERVAL_NS,
            late=histogram.encode(),
            cpu_model="Imaginary",
            cpu_count=2,
            kernel="6.1",
            load_average_1m=0.0,
        )
    )


@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=40), st.integers(0, 2_000))
def test_every_instant_within_a_pause_is_late(late_us: list[int], by_us: int) -> None:
    """Whole µs below 2 048 are buckets of their own, so nothing is rounded."""
    every = [late - back for late in late_us for back in range(0, late + 1, INTERVAL_NS // 1_000) if late - back >= 0]
    found = record([one * 1_000 for one in late_us])
    assert found.instants == pytest.approx(len(every), abs=sum(one % 1_000 == 0 for one in late_us))
    later = sum(one > by_us for one in every)
    assert found.share_later_than(by_us * 1_000) * found.instants == pytest.approx(later, abs=len(late_us))


def test_a_probability_is_met_and_hardly_more() -> None:
    dice = random.Random(3)
    found = record([int(dice.expovariate(1 / 50_000.0)) for _ in range(50_000)])
    for probability in (0.1, 0.01, 1e-3):
        late = found.at(probability)
        assert isinstance(late, Late)
        assert found.share_later_than(late.by_ns) <= probability
        assert late.by_ns == pytest.approx(-math.log(probability) * 50_000.0, rel=0.2)


def test_what_the_record_is_too_short_for_is_not_carried() -> None:
    found = record([50_000] * 5_000)
    assert isinstance(found.at(1e-3), Late)
    refused = found.at(1e-6)
    assert isinstance(refused, NotCarried)
    assert refused.record_for_s == pytest.approx(operations_needed(1.0 - 1e-6) / 1_000.0)
    least = found.least_carried()
    assert least is not None
    assert 1.0 / 5_000 < least.probability < 1e-3


def test_one_long_pause_is_one_event_however_many_instants_it_took() -> None:
    """Of 100 000 instants 1 000 were in one pause: a share of a thousandth is known from it, and yet from it alone."""
    once = record([50_000] * 99_000 + [1_000_000_000])
    refused = once.at(1e-3)
    assert isinstance(refused, NotCarried)
    assert refused.record_for_s is None
    assert "1 pause" in refused.why
    often = record([50_000] * 99_000 + [1_000_000_000] * 4)
    assert isinstance(often.at(1e-3), Late)
