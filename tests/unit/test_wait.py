"""Wait strategies: what can be written is read back, and what cannot be meant is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.systems.wait import Wait


@given(
    st.one_of(
        st.sampled_from([Wait("try"), Wait("watch"), Wait("block")]),
        st.builds(
            Wait,
            st.just("poll"),
            # What `str` writes exactly: six significant digits.
            st.one_of(st.integers(1, 100_000).map(float), st.integers(1, 99_999).map(lambda n: n / 100)),
            st.integers(0, 100),
        ),
    )
)
def test_every_strategy_reads_back_as_itself(wait: Wait) -> None:
    assert Wait.parse(str(wait)) == wait


@given(st.integers(1, 100_000), st.integers(0, 100))
def test_what_is_written_canonically_is_written_again(interval_ms: int, jitter_percent: int) -> None:
    text = f"poll-{interval_ms}ms" + (f"-j{jitter_percent}" if jitter_percent else "")
    assert str(Wait.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "poll",
        "poll-ms",
        "poll-0ms",
        "poll-0.0ms",
        "poll--5ms",
        "poll-5",
        "poll-5s",
        "poll-5ms-j",
        "poll-5ms-j101",
        "poll-5ms-20",
        "poll-5ms ",
        " try",
        "TRY",
        "try-5ms",
        "watch-5ms",
        "poll-infms",
        "poll-nanms",
        "poll-1e3ms",
        "spin",
    ],
)
def test_what_is_no_strategy_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="poll-5ms-j20"):
        Wait.parse(text)


@given(st.floats(0.01, 10_000), st.integers(0, 100))
def test_a_pause_is_never_longer_than_the_interval_nor_shorter_than_the_jitter_allows(
    interval_ms: float, jitter_percent: int
) -> None:
    pause_ms = Wait("poll", interval_ms, jitter_percent).pause_s() * 1000
    shortest_ms = interval_ms * (1 - jitter_percent / 100)
    rounding_ms = interval_ms * 1e-9
    assert shortest_ms - rounding_ms <= pause_ms <= interval_ms + rounding_ms


def test_jitter_spreads_and_no_jitter_does_not() -> None:
    assert len({Wait("poll", 5, 20).pause_s() for _ in range(100)}) > 90
    assert {Wait("poll", 5).pause_s() for _ in range(100)} == {0.005}
