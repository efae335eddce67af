"""A text is exactly one number within bounds, or a mistake that names the bounds."""

import math

import pytest

from bench.load.bounds import exactly_number, exactly_whole, number, run_time_s, whole

NO_NUMBERS = (
    "",
    " ",
    "ten",
    "1 2",
    "1,5",
    "1_000",
    "１２",
    "٣",
    "²",
    "Ⅳ",
    "½",
    "0x10",
    "1e",
    "e5",
    "--3",
    "+-3",
    "–3",
    "3-",
)
NO_NUMBERS += (
    "True",
    "false",
    "None",
    "null",
    "[]",
    "{}",
    "1;2",
    "1\x00",
    "9" * 5_000,
    "x" * 100_000,
    "1.2.3",
    "1e9999x",
)
NO_WHOLES = (*NO_NUMBERS, "1.0", "1.", ".5", "1e3", "nan", "inf", "-inf", "1e400")


@pytest.mark.parametrize("text", NO_WHOLES)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a whole number") as refused:
        whole(1, 10)(text)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a number") as refused:
        number(1, 10)(text)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize("value", [True, False, None, [3], {"3": 3}, 3.0, b"3"])
def test_what_is_no_text_and_no_whole_number_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a whole number"):
        whole(1, 10)(value)


@pytest.mark.parametrize("text", ["0", "-3", "11", "1000000000", "-0", "00", "9" * 39])
def test_a_whole_number_outside_names_the_bounds(text: str) -> None:
    with pytest.raises(ValueError, match=r"is outside 1\.\.10$"):
        whole(1, 10)(text)


@pytest.mark.parametrize(
    "text", ["0", "-3", "10.01", "1e9", "1e400", "nan", "NaN", "inf", "-inf", "Infinity", "1e-400"]
)
def test_a_number_outside_names_the_bounds(text: str) -> None:
    with pytest.raises(ValueError, match=r"is outside 1\.\.10$"):
        number(1, 10)(text)


def test_numbers_are_read_as_they_stand() -> None:
    assert [exactly_whole(text) for text in ("3", "-3", "+3", " 3 ", "003")] == [3, -3, 3, 3, 3]
    assert [exactly_number(text) for text in ("3", "-3.5", ".5", "5.", "1e3", "1E-3")] == [3, -3.5, 0.5, 5, 1000, 0.001]
    assert math.isinf(exactly_number("-inf"))


@pytest.mark.parametrize(
    ("text", "length_s"), [("20", 20), ("20s", 20), ("3m", 180), ("2h", 7200), ("1h20m", 4800), ("1h1m1s", 3661)]
)
def test_a_run_time_is_what_locusts_users_write(text: str, length_s: int) -> None:
    assert run_time_s(text) == length_s


@pytest.mark.parametrize(
    "text", ["", "-3", "1.5", "1e3", "１２", "1_0", "s", "20x", "1m30", "1s2h", "nan", "inf", "True", "9" * 50]
)
def test_what_is_no_run_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a length of time such as"):
        run_time_s(text)


@pytest.mark.parametrize("text", ["0", "0s", "0h0m0s", "86401", "25h", "1000000000"])
def test_a_run_time_outside_names_the_bounds(text: str) -> None:
    with pytest.raises(ValueError, match=r"is outside 1s\.\.24h$"):
        run_time_s(text)
