"""Overlapping holds, falling tokens and waits are found wherever they are, and nowhere else."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.holds import Holds, overlaps, token_regressions, waited

Hold = tuple[int, int, int, int, int]  # key, started, acquired, held until, token


def holds_of(rows: list[Hold]) -> Holds:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    key, started, acquired, until, token = columns
    return Holds.of(np.arange(len(rows)), key, started, acquired, until, token)


def rows_of(holds: Holds) -> list[Hold]:
    columns = (holds.key, holds.started_ns, holds.acquired_ns, holds.held_until_ns, holds.token)
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


@st.composite
def any_holds(draw: st.DrawFn) -> list[Hold]:
    """Holds of any kind, overlapping as they please."""
    rows = []
    for _ in range(draw(st.integers(0, 25))):
        started = draw(st.integers(0, 60))
        acquired = started + draw(st.integers(0, 10))
        until = acquired + draw(st.integers(0, 10))
        rows.append((draw(st.integers(0, 2)), started, acquired, until, draw(st.integers(-1, 5))))
    return rows


@st.composite
def clean_holds(draw: st.DrawFn) -> list[Hold]:
    """What a correct lock leaves behind: on each key one hold after another, with rising tokens."""
    rows = []
    for key in range(draw(st.integers(1, 3))):
        clock, token = draw(st.integers(0, 5)), 0
        for _ in range(draw(st.integers(1, 8))):
            started = max(0, clock - draw(st.integers(0, 5)))  # asked while the last one still held
            acquired = clock + draw(st.integers(0, 5))  # at the very instant of the last release, or later
            clock = acquired + draw(st.integers(1, 5))
            token += draw(st.integers(1, 3))
            rows.append((key, started, acquired, clock, token))
    return draw(st.permutations(rows))


@given(any_holds())
def test_overlaps_are_those_of_the_definition(rows: list[Hold]) -> None:
    holds = holds_of(rows)
    kept = rows_of(holds)
    expected = [
        any(earlier[0] == key and earlier[3] > acquired for earlier in kept[:place])
        for place, (key, _, acquired, _, _) in enumerate(kept)
    ]
    assert overlaps(holds).tolist() == expected


@given(any_holds())
def test_waits_are_those_of_the_definition(rows: list[Hold]) -> None:
    holds = holds_of(rows)
    kept = rows_of(holds)
    expected = [
        any(earlier[0] == key and earlier[3] > started for earlier in kept[:place])
        for place, (key, started, _, _, _) in enumerate(kept)
    ]
    assert waited(holds).tolist() == expected


@given(clean_holds())
def test_a_correct_lock_is_never_accused(rows: list[Hold]) -> None:
    holds = holds_of(rows)
    assert not overlaps(holds).any()
    assert not token_regressions(holds).any()


@given(clean_holds(), st.data())
def test_a_planted_double_grant_is_found(rows: list[Hold], data: st.DataObject) -> None:
    key, started, acquired, until, token = data.draw(st.sampled_from(rows))
    longer = (key, started, acquired, max(until, acquired + 1), token)
    intruder = (key, started, data.draw(st.integers(acquired, longer[3] - 1)), longer[3] + 1, token + 1)
    assert overlaps(
        holds_of([row for row in rows if row != (key, started, acquired, until, token)] + [longer, intruder])
    ).any()


@given(clean_holds(), st.data())
def test_a_planted_token_regression_is_found(rows: list[Hold], data: st.DataObject) -> None:
    kept = rows_of(holds_of(rows))
    pairs = [place for place in range(1, len(kept)) if kept[place][0] == kept[place - 1][0]]
    if not pairs:
        return
    place = data.draw(st.sampled_from(pairs))
    key, started, acquired, until, _ = kept[place]
    kept[place] = (key, started, acquired, until, data.draw(st.integers(0, kept[place - 1][4])))
    assert token_regressions(holds_of(kept)).any()


def test_a_system_without_tokens_is_not_judged() -> None:
    assert not token_regressions(holds_of([(0, 0, 0, 1, -1), (0, 1, 1, 2, -1), (0, 2, 2, 3, 7)])).any()


def test_a_hold_that_outlived_its_lease_is_told_from_a_double_grant() -> None:
    rows = [(0, 0, 1_000_000, 90_000_000, 1), (0, 0, 60_000_000, 61_000_000, 2)]
    assert overlaps(holds_of(rows)).any()
    assert overlaps(holds_of(rows), lease_ms=70).any()
    assert not overlaps(holds_of(rows), lease_ms=50).any()


def test_no_holds_are_no_trouble() -> None:
    empty = holds_of([])
    assert not overlaps(empty).any()
    assert not token_regressions(empty).any()
    assert not waited(empty).any()


def test_instants_of_a_long_running_machine_do_not_overflow() -> None:
    boot_ns = 10**18  # thirty years of uptime
    rows = [(key, boot_ns, boot_ns + key, boot_ns + key + 5, 1) for key in range(1000)]
    assert not overlaps(holds_of(rows)).any()
    with pytest.raises(OverflowError, match="too many for one pass"):
        overlaps(holds_of([(0, 0, 0, 1, 1), (1, 2**62, 2**62, 2**62 + 1, 1), (2, 0, 0, 1, 1)]))


def test_a_million_holds_take_seconds() -> None:
    count, keys = 1_000_000, 50
    acquired = np.arange(count, dtype=np.int64) * 1_000
    zeros = np.zeros(count, dtype=np.int64)
    key = np.arange(count, dtype=np.int64) % keys
    began = time.monotonic()
    holds = Holds.of(zeros, key, acquired - 200, acquired, acquired + 900 * keys, acquired)
    assert not overlaps(holds).any()
    assert not token_regressions(holds).any()
    assert time.monotonic() - began < 5
