"""What only the events tell: hand-offs, streaks, and the stalls behind a percentile, on events made by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.contention.fairness import longest_streak
from bench.analysis.contention.queues import queues
from bench.analysis.from_events import from_events, stalls
from bench.analysis.holds import Holds, RunEvents
from tests.campaigns import plans

_MS = 1_000_000
UNCONTENDED, CONTENDED, _ = plans(systems=["redis"], repetitions=1)


def _holds(clients: list[int], keys: list[int] | None = None, wait_ns: int = 5_000) -> Holds:
    """Grants one after the other, a millisecond apart."""
    acquired = np.arange(1, len(clients) + 1, dtype=np.int64) * _MS
    key = np.array(keys or [0] * len(clients), dtype=np.int64)
    token = np.arange(len(clients), dtype=np.int64)
    return Holds.of(np.array(clients, dtype=np.int64), key, acquired - wait_ns, acquired, acquired + _MS // 2, token)


def _events(holds: Holds) -> RunEvents:
    return RunEvents({"acquired": len(holds)}, holds, 2, holds.started_ns, holds.acquired_ns - holds.started_ns)


def test_a_grant_changed_hands_when_another_client_had_the_key_before() -> None:
    told = from_events(CONTENDED, _events(_holds([1, 1, 2, 2, 2, 1, 3, 3], [0, 0, 0, 0, 0, 0, 7, 7])))
    assert told["changed_hands_share"] == 2 / 6


def test_the_longest_streak_ends_at_another_client_and_at_another_key() -> None:
    assert from_events(CONTENDED, _events(_holds([1, 1, 2, 2, 2, 1])))["longest_streak"] == 3
    assert from_events(CONTENDED, _events(_holds([1, 1, 1, 1], [0, 0, 1, 1])))["longest_streak"] == 2
    (queue,) = queues(_events(_holds([1])), (0, 1))
    assert longest_streak(queue) == 0


def test_a_grant_to_a_request_from_outside_the_window_lies_between_those_of_the_window() -> None:
    """Client 2 asked before the window and was granted in it; after it 1 went on: neither makes a streak of 1 longer"""
    whole = _events(_holds([1, 1, 2, 1, 1, 1, 1]))
    own = _events(_holds([1, 1, 1]))  # what began in the window, as if nobody had been in between
    window_ns = (0, 5 * _MS + 1)
    assert from_events(CONTENDED, own)["changed_hands_share"] == 0.0, "an old record"
    told = from_events(CONTENDED, own, whole, window_ns)
    assert (told["changed_hands_share"], told["longest_streak"]) == (2 / 4, 2.0)


def test_whoever_releases_takes_it_again_and_the_record_says_so() -> None:
    """93 % of grants go back to the same client: the median wait is theirs; the wait that mattered is the others'."""
    holds = _holds(([1] * 96 + [2] * 4) * 20)
    told = from_events(CONTENDED, _events(holds))
    assert told["longest_streak"] == 96
    assert told["changed_hands_share"] == pytest.approx(39 / 1999)
    assert told["handed_wait_us_p50"] == 5.0
    assert "handed_wait_us_p99" not in told  # 39 waits carry no p99


def test_keys_of_ones_own_never_change_hands() -> None:
    told = from_events(UNCONTENDED, _events(_holds([1] * 400)))
    assert told.keys() == {"stalls_p99"}


@pytest.mark.parametrize(
    ("gap_ms", "events"),
    [(0.0, 1), (4.0, 1), (40.0, 6)],
    ids=["overlapping", "within one stall of each other", "far apart"],
)
def test_six_slow_operations_in_one_stall_are_one_event(gap_ms: float, events: int) -> None:
    began = np.arange(600, dtype=np.int64) * 10 * _MS
    took = np.full(600, 100_000, dtype=np.int64)
    slow = np.arange(6) * round((5 + gap_ms) * _MS)
    began = np.concatenate([began, 100 * _MS + slow])
    took = np.concatenate([took, np.full(6, 5 * _MS, dtype=np.int64) + np.arange(6)])
    assert stalls(began, took, 1 - 5.5 / 606) == events


def test_how_many_operations_lie_above_is_not_how_many_stalls_do() -> None:
    """One stall of a second holds up every operation that arrives in it."""
    began = np.arange(10_000, dtype=np.int64) * _MS
    took = np.full(10_000, 50_000, dtype=np.int64)
    took[3_000:4_000] = (4_000 - np.arange(3_000, 4_000)) * _MS
    assert stalls(began, took, 0.99) == 1


@given(
    st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 60)), min_size=1, max_size=60),
    st.sampled_from([0.01, 0.5, 0.9, 0.99]),
)
def test_stalls_are_those_of_one_pass_over_the_slow_ones(events: list[tuple[int, int]], fraction: float) -> None:
    quantile = sorted(took for _, took in events)[max(1, math.ceil(fraction * len(events) - 1e-9)) - 1]
    count, ends, longest = 0, 0, 0
    for began, took in sorted(one for one in events if one[1] >= quantile):
        if count and began - ends <= longest:
            ends, longest = max(ends, began + took), max(longest, took)
        else:
            count, ends, longest = count + 1, began + took, took
    began_ns, took_ns = (np.array(column, dtype=np.int64) for column in zip(*events, strict=True))
    assert stalls(began_ns, took_ns, fraction) == count
