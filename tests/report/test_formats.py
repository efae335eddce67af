"""How figures are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis import runs
from bench.analysis.claims import Claim
from bench.analysis.intervals import Estimate, Method
from bench.analysis.notes import BOUND_WORDS
from bench.report import formats


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (0.0949, 2, "0.095"),
        (0.0999, 2, "0.10"),
        (1.26, 2, "1.3"),
        (9.96, 2, "10"),
        (12.4, 2, "12"),
        (99.6, 2, "100"),
        (123.4, 2, "123"),
        (9_419.2, 2, "9,419"),
        (0.00123, 3, "0.00123"),
        (0.0, 2, "0"),
        (-0.0211, 2, "−0.021"),  # a hand-off that was over before the releaser knew
        (-1_260.0, 3, "−1,260"),
    ],
)
def test_significant_digits(value: float, digits: int, words: str) -> None:
    assert formats.significant(value, digits) == words


@given(st.floats(min_value=1e-6, max_value=1e9), st.integers(min_value=2, max_value=4))
def test_rounding_never_changes_a_figure_by_more_than_its_digits(value: float, digits: int) -> None:
    written = float(formats.significant(value, digits).replace(",", ""))
    assert written == pytest.approx(value, rel=0.5 * 10 ** (1 - digits) + 1e-9)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.5, 2.0, "0.5–2"), (0.0, 1.0, "under 1"), (1.0, None, "over 1"), (5e4, 1e5, "50k–100k"), (10, 10, "10")],
)
def test_claimed_ranges(low: float | None, high: float | None, words: str) -> None:
    assert formats.claimed_range(Claim("C01", "p", "redis", "m", low, high, "u", "c", "h")) == words


def test_a_range_below_zero_has_no_dash_beside_a_minus() -> None:
    estimate = Estimate(-0.73, -0.75, 0.02, Method.RANGE, 3)
    assert formats.with_range(estimate, "{:g}".format) == "-0.73 [-0.75 to 0.02]"
    assert formats.ms_value(Estimate(-73.0, -75.0, -2.0, Method.RANGE, 3)).endswith("[−0.075 to −0.0020]")
    assert formats.with_range(Estimate(1.0, 0.0, 2.0, Method.RANGE, 3), "{:g}".format) == "1 [0\N{EN DASH}2]"


def test_a_lower_bound_names_its_lowest_run_and_no_upper_one() -> None:
    estimate = Estimate(5_000.0, 4_321.0, 6_000.0, Method.RANGE, 3)
    assert formats.rate_value(estimate, ("generator",)) == f"≥{formats.NO_BREAK}4,321 (generator-bound)"
    assert (
        formats.rate_value(estimate, ("machine", "clients"))
        == f"≥{formats.NO_BREAK}4,321 (machine-bound, still rising)"
    )
    assert formats.rate_value(estimate) == "5,000 [4,321–6,000]"


def test_an_upper_bound_names_its_highest_run_and_no_lower_one() -> None:
    estimate = Estimate(63.0, 61.0, 66.0, Method.RANGE, 3)
    assert formats.ms_value(estimate, binds=("client",)) == f"≤{formats.NO_BREAK}0.066 (client-bound)"
    assert formats.ms_value(estimate) == "0.0630 [0.061–0.066]"


def test_an_interval_without_a_width_is_not_printed() -> None:
    alike = Estimate(63.0, 63.0, 63.0, Method.RANGE, 3)
    assert formats.ms_value(alike) == "0.0630"
    assert formats.whole_value(alike) == "63"
    assert formats.times_value(alike) == f"63{formats.NO_BREAK}×"
    nearly = Estimate(1.0, 0.9996, 1.0, Method.T_LOG, 6)
    assert formats.with_range(nearly, "{:.0%}".format) == "100%", "both ends read alike"
    assert formats.with_range(nearly, "{:.2%}".format) == "100.00% [99.96%–100.00%]"


def test_every_word_for_what_binds_a_run_has_words_for_a_cell() -> None:
    assert {runs.CLIENT, runs.GENERATOR, runs.MACHINE, runs.CLIENTS} == set(BOUND_WORDS)


@pytest.mark.parametrize(
    ("counts", "words"), [([], "no run"), ([1], "1 run"), ([3, 3], "3 runs"), ([2, 1_200], "2 to 1,200 runs")]
)
def test_counts_in_words(counts: list[int], words: str) -> None:
    assert formats.counted(counts, "run") == words


def test_run_ids_say_their_common_part_once() -> None:
    assert formats.run_list(["a-b-01", "a-b-02", "c-b-01"]) == "a-b-01, -02, c-b-01"
