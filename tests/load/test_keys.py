"""Keys are drawn by the seed, and in the proportions that were asked for."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.keys import EvenKeys, OwnKey, ZipfKeys, zipf_shares


def name(index: int) -> str:
    return f"key-{index}"


@given(st.integers(1, 300), st.floats(0, 5))
def test_shares_follow_the_power_law(keys: int, exponent: float) -> None:
    cumulated = zipf_shares(keys, exponent)
    shares = [after - before for before, after in zip([0.0, *cumulated], cumulated, strict=False)]
    assert len(cumulated) == keys
    assert cumulated[-1] == 1.0
    for number, share in enumerate(shares, start=1):
        assert share == pytest.approx(shares[0] * number**-exponent, abs=1e-9)


@given(st.integers(1, 50), st.floats(0, 3), st.integers(0, 2**32))
def test_every_draw_is_a_key_and_repeats_with_the_seed(keys: int, exponent: float, seed: int) -> None:
    shares = zipf_shares(keys, exponent)
    one, two = (ZipfKeys(shares, name, random.Random(seed)) for _ in range(2))
    for _ in range(50):
        index, key = one.draw()
        assert 0 <= index < keys
        assert key == name(index)
        assert two.draw() == (index, key)


@pytest.mark.parametrize("exponent", [0.0, 0.99, 2.0])
def test_draws_have_the_shares(exponent: float) -> None:
    shares = zipf_shares(20, exponent)
    keys = ZipfKeys(shares, name, random.Random(3))
    drawn = [keys.draw()[0] for _ in range(40_000)]
    assert drawn.count(0) / len(drawn) == pytest.approx(shares[0], abs=0.01)
    assert sum(index < 5 for index in drawn) / len(drawn) == pytest.approx(shares[4], abs=0.015)


def test_without_an_exponent_all_keys_are_alike() -> None:
    assert zipf_shares(4, 0.0) == pytest.approx([0.25, 0.5, 0.75, 1.0])


def test_even_keys_are_all_drawn_and_an_own_key_is_always_the_same() -> None:
    even = EvenKeys(5, name, random.Random(1))
    assert {even.draw() for _ in range(200)} == {(index, name(index)) for index in range(5)}
    assert OwnKey(7, name).draw() == (7, "key-7")
