"""What a live page shows of made-up seconds, whose truth is known."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign.live.console import ROWS_AT_MOST, Console
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD, PACK_ROW
from bench.servers.process import clock_id
from bench.systems.base import Outcome

_MS = 1_000_000
NOW_NS = 1_000 * _MS
HOLD_NS, HAND_OFF_NS = 2 * _MS, _MS // 2
Row = tuple[int, ...]


def held(client: int, asked_ns: int, granted_ns: int, hold_ns: int = HOLD_NS, key: int = 0) -> Row:
    sent_ns = granted_ns + hold_ns
    codes = (CODES[Outcome.ACQUIRED], CODES[Outcome.RELEASED], NO_TOKEN)
    return (client, key, asked_ns, asked_ns, granted_ns, sent_ns, sent_ns, *codes)


def refused(client: int, asked_ns: int, outcome: Outcome) -> Row:
    return (client, 0, asked_ns, asked_ns, asked_ns + _MS, 0, 0, CODES[outcome], NOTHING_HELD, NO_TOKEN)


def fair(clients: int, grants: int) -> list[Row]:
    """A queue that hands over in half a millisecond; each client asks again as soon as it has released."""
    step_ns = HOLD_NS + HAND_OFF_NS
    return [held(n % clients, max(0, (n - clients) * step_ns + HOLD_NS), n * step_ns) for n in range(grants)]


def second(rows: Iterable[Row], node: str = "local", **more: Any) -> tuple[dict[str, Any], bytes]:
    packed = b"".join(PACK_ROW(*row) for row in rows)
    told = {"node": node, "waiters": 3, "holders": 1, "at_ns": 1_000 * _MS, "cpu_ns": 0, "clock": clock_id()}
    return {**told, **more, "lengths": {"memory": len(packed)}}, packed


def console() -> Console:
    return Console({"systems": ["memory"], "workload": "contended", "session": 7, "meet": True}, 0.0)


def last_moment(seconds: Sequence[tuple[dict[str, Any], bytes]]) -> dict[str, Any]:
    made, moment = console(), {}
    for number, (told, packed) in enumerate(seconds, 1):
        made.add(told, packed, NOW_NS)
        moment = made.moment(float(number))
    return moment


def test_a_fair_queue_is_shown_as_it_is() -> None:
    moment = last_moment([second([], at_ns=0), second(fair(clients=4, grants=400), at_ns=2_000 * _MS)])
    told = moment["systems"]["memory"]
    assert told["pairs_per_s"] == 200
    assert told["hand_off_us_p50"] == told["hand_off_us_p99"] == HAND_OFF_NS / 1e3
    assert told["queue_wait_us_p50"] == 3 * (HOLD_NS + HAND_OFF_NS) / 1e3
    assert told["longest_streak"] == 1
    assert (told["double_holds"], told["failed"]) == (0, 0)
    assert (moment["session"], moment["waiters"], moment["holders"]) == (7, 3, 1)


def test_rates_are_those_of_all_processes_and_of_no_second_cut_short() -> None:
    rows = fair(clients=4, grants=100)
    started = [second([], node, at_ns=0) for node in "ab"]
    whole = [second(rows, node, at_ns=1_000 * _MS) for node in "ab"]
    cut = second(rows[:1], "b", at_ns=1_010 * _MS)
    assert last_moment(started)["systems"]["memory"]["pairs_per_s"] is None
    assert last_moment([*started, *whole, cut])["systems"]["memory"]["pairs_per_s"] == 200


def test_no_percentile_that_so_few_do_not_tell() -> None:
    told = last_moment([second(fair(clients=4, grants=100))])["systems"]["memory"]
    assert "acquire_us_p50" in told
    assert "acquire_us_p99" not in told


def test_percentiles_are_of_the_last_seconds() -> None:
    slow = [held(0, n * 20 * _MS, n * 20 * _MS + 9 * _MS) for n in range(50)]
    later_ns = 60_000 * _MS
    quick = [held(0, later_ns + n * 20 * _MS, later_ns + n * 20 * _MS + _MS) for n in range(50)]
    told = last_moment([second(slow), second(quick)])["systems"]["memory"]
    assert told["acquire_us_p50"] == 1_000
    assert told["outcomes"] == {"acquire/acquired": 100, "release/released": 100}, "and counts are of all"


def test_a_holder_that_comes_back_late_makes_double_holds_of_those_that_came_meanwhile() -> None:
    meanwhile = [held(1, n * 10 * _MS, n * 10 * _MS) for n in range(10, 20)]
    paused = held(2, 0, 50 * _MS, hold_ns=100 * _MS)
    made = console()
    for told, packed in (second(meanwhile), second([paused]), second([held(1, 1_000 * _MS, 1_000 * _MS)])):
        made.add(told, packed, NOW_NS)
        moment = made.moment(1.0)
    assert moment["systems"]["memory"]["double_holds"] == 5, "each once, whenever it was noticed"


def test_other_outcomes_are_counted_and_only_failures_fail() -> None:
    rows = [refused(1, 0, Outcome.TIMEOUT), refused(2, 0, Outcome.LOST), refused(3, 0, Outcome.ERROR)]
    told = last_moment([second(rows)])["systems"]["memory"]
    assert told["outcomes"] == {"acquire/error": 1, "acquire/lost": 1, "acquire/timeout": 1}
    assert told["failed"] == 2


def test_clocks_of_two_machines_are_not_compared() -> None:
    rows = fair(clients=4, grants=400)
    days_ns = 10**15
    later = [(*row[:2], *(instant + days_ns for instant in row[2:7]), *row[7:]) for row in rows[1::2]]
    parts = [second(rows[0::2], "a"), second(later, "b", clock="another", at_ns=days_ns + 1_000 * _MS)]
    moment = last_moment(parts)
    told = moment["systems"]["memory"]
    assert told["acquire_us_p99"] > 0, "of the 400 of both"
    assert told["double_holds"] is None
    assert "hand_off_us_p50" not in told
    assert "acquire_us_p50" in told
    assert any("clocks are not compared" in warning for warning in moment["warnings"])


def test_a_process_that_is_lost_does_nothing_any_more() -> None:
    rows = fair(clients=4, grants=100)
    made = console()
    for at_s in (0, 1):
        for node in "ab":
            made.add(*second(rows if at_s else [], node, at_ns=at_s * NOW_NS), at_s * NOW_NS)
    whole = made.moment(1.0)
    assert (whole["processes"], whole["holders"], whole["waiters"]) == (2, 2, 6)
    assert whole["systems"]["memory"]["pairs_per_s"] == 200
    for at_s in (2, 3, 4):
        made.add(*second(rows, "a", at_ns=at_s * NOW_NS), at_s * NOW_NS)
    left = made.moment(4.0)
    assert (left["processes"], left["holders"], left["waiters"]) == (1, 1, 3)
    assert left["systems"]["memory"]["pairs_per_s"] == 100, "of the one that is left"
    assert left["systems"]["memory"]["outcomes"]["acquire/acquired"] == 500, "and what the other did counts"


def test_a_busy_generator_is_said_plainly() -> None:
    made = console()
    made.add(*second([], cpu_ns=0, at_ns=0), NOW_NS)
    made.add(*second([], cpu_ns=800 * _MS, at_ns=1_000 * _MS), NOW_NS)
    moment = made.moment(1.0)
    assert moment["generator_cpu_share"] == pytest.approx(0.8)
    assert "lower bound" in moment["warnings"][0]


def test_a_long_session_does_not_grow() -> None:
    made = console()
    rows = fair(clients=4, grants=ROWS_AT_MOST // 4)
    for number in range(8):
        moved_ns = number * 5 * _MS
        made.add(*second([(*row[:2], *(instant + moved_ns for instant in row[2:7]), *row[7:]) for row in rows]), NOW_NS)
    kept = sum(map(len, made._systems["memory"]._kept))
    assert kept <= ROWS_AT_MOST + len(rows)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(1, 12)), min_size=1, max_size=40),
    st.lists(st.integers(0, 40), max_size=6),
    st.booleans(),
)
def test_however_the_seconds_are_cut_the_sums_are_the_same(
    holds: list[tuple[int, int, int]], cuts: list[int], two: bool
) -> None:
    rows = sorted((held(c, at * _MS, at * _MS, hold * _MS) for c, at, hold in holds), key=lambda row: row[6])
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [rows[first:end] for first, end in itertools.pairwise(edges)]
    cut = [second(part[half::2], f"node {half}") for part in parts for half in (0, 1)] if two else [*map(second, parts)]
    whole, told = (last_moment(one)["systems"]["memory"] for one in ([second(rows)], cut))
    assert told["double_holds"] == whole["double_holds"]
    assert told["outcomes"] == whole["outcomes"]
