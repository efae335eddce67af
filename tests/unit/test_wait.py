"""Wait strategies: what can be written is read back, and what cannot be meant is refused."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.systems.wait import EXAMPLES, JITTERS, PLAIN, WOKEN, Wait

# What `str` writes exactly: six significant digits.
exact_ms = st.one_of(st.integers(1, 100_000).map(float), st.integers(1, 99_999).map(lambda n: n / 100))
backoffs = st.builds(
    lambda ends, jitter: Wait("backoff", min(ends), cap_ms=max(ends), jitter=jitter),
    st.tuples(exact_ms, exact_ms),
    st.sampled_from(["", *JITTERS]),
)


@given(
    st.one_of(
        st.sampled_from(PLAIN).map(Wait),
        st.builds(Wait, st.just("poll"), exact_ms, st.integers(0, 100)),
        st.builds(Wait, st.sampled_from(WOKEN), exact_ms),
        backoffs,
    )
)
def test_every_strategy_reads_back_as_itself(wait: Wait) -> None:
    assert Wait.parse(str(wait)) == wait


@given(st.integers(1, 100_000), st.integers(0, 100))
def test_what_is_written_canonically_is_written_again(interval_ms: int, jitter_percent: int) -> None:
    text = f"poll-{interval_ms}ms" + (f"-j{jitter_percent}" if jitter_percent else "")
    assert str(Wait.parse(text)) == text


@pytest.mark.parametrize("text", EXAMPLES.values())
def test_every_example_can_be_written(text: str) -> None:
    assert str(Wait.parse(text)) == text
    assert Wait.parse(text).strategy == next(name for name, example in EXAMPLES.items() if example == text)


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
        "backoff-5ms",
        "backoff-80ms-5ms",
        "backoff-0ms-5ms",
        "backoff-5ms-80ms-some",
        "backoff-5ms-80ms-full-j20",
        "backoff-5ms-80ms-j101",
        "pubsub",
        "pubsub-0ms",
        "blpop-5ms-j20",
        "herd-5ms",
    ],
)
def test_what_is_no_strategy_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match="poll-5ms-j20"):
        Wait.parse(text)


def pauses_ms(wait: Wait, count: int) -> list[float]:
    return [pause_s * 1000 for pause_s in islice(wait.pauses_s(), count)]


@given(st.floats(0.01, 10_000), st.integers(0, 100))
def test_a_pause_is_never_longer_than_the_interval_nor_shorter_than_the_jitter_allows(
    interval_ms: float, jitter_percent: int
) -> None:
    shortest_ms = interval_ms * (1 - jitter_percent / 100)
    rounding_ms = interval_ms * 1e-9
    for pause_ms in pauses_ms(Wait("poll", interval_ms, jitter_percent), 3):
        assert shortest_ms - rounding_ms <= pause_ms <= interval_ms + rounding_ms


def test_jitter_spreads_and_no_jitter_does_not() -> None:
    assert len(set(pauses_ms(Wait("poll", 5, 20), 100))) > 90
    assert set(pauses_ms(Wait("poll", 5), 100)) == {5.0}


def test_a_backoff_without_jitter_doubles_up_to_its_cap() -> None:
    assert pauses_ms(Wait.parse("backoff-5ms-30ms"), 5) == pytest.approx([5, 10, 20, 30, 30])


def test_a_backoff_with_jitter_in_percent_is_lengthened_by_up_to_that() -> None:
    """As seed 001 prints it: 0.1 s doubling to 5 s, and up to 10 % more."""
    wait, doubled_ms = Wait.parse("backoff-100ms-5000ms-j10"), [100, 200, 400, 800, 1600, 3200, 5000]
    assert str(wait) == "backoff-100ms-5000ms-j10"
    for _ in range(100):
        stretched = [paused / plain for paused, plain in zip(pauses_ms(wait, 7), doubled_ms, strict=True)]
        assert all(1 <= one <= 1.1 for one in stretched)
        assert len(set(stretched)) > 1


@given(backoffs, st.integers(0, 5))
def test_a_backoff_stays_within_what_its_jitter_allows(wait: Wait, number: int) -> None:
    """Brooker's formulas: full in [0, e], equal in [e / 2, e], e = min(cap, base 2^n); decorrelated in [base, cap]."""
    *before, pause_ms = pauses_ms(wait, number + 1)
    doubled_ms = min(wait.cap_ms, wait.interval_ms * 2**number)
    lowest_ms, highest_ms = {
        "": (doubled_ms, doubled_ms),
        "full": (0.0, doubled_ms),
        "equal": (doubled_ms / 2, doubled_ms),
        "decorrelated": (wait.interval_ms, min(wait.cap_ms, 3 * (before[-1] if before else wait.interval_ms))),
    }[wait.jitter]
    assert lowest_ms * (1 - 1e-9) <= pause_ms <= highest_ms * (1 + 1e-9)


@pytest.mark.parametrize("jitter", JITTERS)
def test_the_jitter_of_a_backoff_spreads(jitter: str) -> None:
    wait = Wait.parse(f"backoff-5ms-5000ms-{jitter}")
    assert len({pauses_ms(wait, 4)[-1] for _ in range(100)}) > 90
