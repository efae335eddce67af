"""Counts and their exact bounds, against scipy's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from bench.analysis.hazards.counts import Count, upper_bound


@given(of=st.integers(1, 5_000), data=st.data())
def test_the_bound_is_clopper_and_pearsons(of: int, data: st.DataObject) -> None:
    seen = data.draw(st.integers(0, of))
    # The upper end of a two-sided interval at 90 % is the one-sided bound at 95 %.
    exact = binomtest(seen, of).proportion_ci(confidence_level=0.90, method="exact").high
    assert upper_bound(seen, of) == pytest.approx(exact, rel=1e-6)
    if seen < of:
        assert upper_bound(seen, of) == pytest.approx(beta.ppf(0.95, seen + 1, of - seen), rel=1e-9)


@given(st.integers(1, 100_000))
def test_nothing_seen_is_the_closed_form(of: int) -> None:
    assert Count(0, of).upper == pytest.approx(1.0 - 0.05 ** (1.0 / of), rel=1e-9)


@given(of=st.integers(1, 300), data=st.data())
def test_more_seen_is_never_a_smaller_bound_and_more_trials_never_a_larger_one(of: int, data: st.DataObject) -> None:
    seen = data.draw(st.integers(0, of - 1))
    assert upper_bound(seen, of) < upper_bound(seen + 1, of)
    assert upper_bound(seen, of + 1) < upper_bound(seen, of)
    assert seen / of < upper_bound(seen, of)


def test_the_words_tell_the_bound_only_where_nothing_was_seen() -> None:
    assert Count(0, 6).words == "0 of 6, ≤ 39 % at 95 %"
    assert Count(0, 359).told("pairs") == "0 of 359 pairs, ≤ 0.83 % at 95 %"
    assert Count(2, 6).words == "2 of 6"
    assert Count(0, 0).words == "0 of 0"
    assert Count(0, 0).upper == 1.0


def test_counts_add_up_and_refuse_nonsense() -> None:
    assert Count(1, 3) + Count.over([False, True]) == Count(2, 5)
    with pytest.raises(ValueError, match="4 of 3"):
        Count(4, 3)
