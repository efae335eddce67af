"""Counts, and bounds that take the run as the unit, against scipy's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from bench.analysis.hazards.counts import Count


def in_runs(seen: int, of: int, runs: int) -> Count:
    return Count(seen, of, frozenset(f"run-{number}" for number in range(runs)))


@given(of=st.integers(1, 5_000), runs=st.integers(1, 500))
def test_the_bound_is_clopper_and_pearsons_on_the_share_of_runs(of: int, runs: int) -> None:
    assert in_runs(0, of, runs).upper == pytest.approx(beta.ppf(0.95, 1, runs), rel=1e-9)


@given(few=st.integers(1, 50), many=st.integers(51, 5_000), runs=st.integers(1, 50))
def test_more_trials_in_the_same_runs_never_lower_the_bound(few: int, many: int, runs: int) -> None:
    assert in_runs(0, few, runs).upper == in_runs(0, many, runs).upper


@given(runs=st.integers(1, 300))
def test_more_runs_do(runs: int) -> None:
    assert in_runs(0, 718, runs + 1).upper < in_runs(0, 718, runs).upper < 1.0


def test_nobody_calls_it_safe_after_a_few_runs() -> None:
    assert [in_runs(0, 1_000, runs).few for runs in (1, 2, 4, 5, 6)] == [True, True, True, False, False]
    assert not in_runs(1, 1_000, 1).few, "what was seen once can happen"
    assert not Count(0, 0).few


def test_the_words_tell_the_bound_only_where_nothing_was_seen() -> None:
    assert in_runs(0, 36, 6).words == "0 of 36 in 6 runs, ≤ 39 % of runs at 95 % confidence"
    assert in_runs(0, 718, 2).worded("pairs") == "0 of 718 pairs in 2 runs, ≤ 78 % of runs at 95 % confidence"
    assert in_runs(0, 3, 1).words == "0 of 3 in 1 run, ≤ 95 % of runs at 95 % confidence"
    assert in_runs(2, 6, 6).words == "2 of 6"
    assert Count(0, 0).words == "0 of 0"
    assert Count(0, 0).upper == 1.0


def test_counts_add_up_and_refuse_nonsense() -> None:
    both = in_runs(1, 3, 2) + in_runs(0, 2, 3)
    assert (both, len(both.runs)) == (Count(1, 5), 3), "a run that is in both is one run"
    with pytest.raises(ValueError, match="4 of 3"):
        Count(4, 3)
