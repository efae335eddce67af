"""A duration is written with its unit, and what is printed is read as the same duration."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.records.durations import duration_text, read_duration

_VALUES = st.decimals(0, 90_000_000, places=6).map(float)


@given(_VALUES, st.sampled_from(["ms", "s"]))
def test_what_is_printed_is_read_as_the_same_duration(value: float, unit: str) -> None:
    text = duration_text(value, unit)
    assert read_duration(text, unit) == value
    assert read_duration(text.replace(" ", ""), unit) == value


@given(st.integers(0, 1_000_000), st.sampled_from([("ms", 1), ("s", 1_000), ("min", 60_000)]))
def test_units_are_what_they_say(number: int, unit: tuple[str, int]) -> None:
    assert read_duration(f"{number}{unit[0]}", "ms") == number * unit[1]
    assert read_duration(f"{number}{unit[0]}", "s") == float(Decimal(number * unit[1]) / 1_000)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (10, "ms", "10 ms"),
        (0, "ms", "0 ms"),
        (1.5, "ms", "1.5 ms"),
        (0.2, "s", "200 ms"),
        (1_000, "ms", "1 s"),
        (1_500, "ms", "1.5 s"),
        (60, "s", "60 s"),
        (90, "s", "90 s"),
        (120, "s", "2 min"),
        (86_400, "s", "1440 min"),
    ],
)
def test_a_duration_is_printed_as_people_say_it(value: float, unit: str, text: str) -> None:
    assert duration_text(value, unit) == text


@pytest.mark.parametrize("text", ["10", "0", "1.5", ".5"])
def test_a_bare_number_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{text} has no unit: write {text}ms, {text}s or {text}min$"):
        read_duration(text, "ms")


@pytest.mark.parametrize(
    "text", ["", "ms", "10m", "10h", "10 minutes", "-1ms", "+1s", "1e3ms", "1,5s", "１ms", "1_0ms", "nan ms", "1.ms"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration such as 10ms, 1.5s or 2min$"):
        read_duration(text, "ms")


def test_a_refusal_stays_short() -> None:
    with pytest.raises(ValueError, match="is not a duration") as refused:
        read_duration("9" * 100_000, "ms")
    assert len(str(refused.value)) < 120
