"""Where optimism stops paying: the least number of contenders from which on the row's lock does more, run by run."""

import pytest

from bench.analysis.cells import cells_of
from bench.analysis.jobs import Crossing, WayLine, crossings, way_lines
from bench.analysis.runs import RunRow
from tests.jobs.made_up import Rates, line, row, whole

LOCKING: Rates = {1: 100.0, 2: 100.0, 4: 100.0, 8: 100.0}


def lines_of(rows: list[RunRow]) -> tuple[WayLine, ...]:
    return way_lines(cells_of(rows))


def crossing_of(*optimistic: Rates) -> Crossing:
    rows = [one for number, rates in enumerate(optimistic, 1) for one in line("version", rates, number, wait="try")]
    rows += [one for number, _ in enumerate(optimistic, 1) for one in line("for-update", LOCKING, number)]
    (found,) = crossings(lines_of(rows))
    return found


@pytest.mark.parametrize(
    ("optimistic", "clients"),
    [
        ({1: 120.0, 2: 110.0, 4: 90.0, 8: 50.0}, 4),
        ({1: 90.0, 2: 80.0, 4: 70.0, 8: 60.0}, 1),
        ({1: 90.0, 2: 110.0, 4: 105.0, 8: 90.0}, 8),  # behind once, and ahead again: it has not stopped paying there
        ({1: 120.0, 2: 110.0, 4: 105.0, 8: 101.0}, None),
        ({1: 100.0, 2: 100.0, 4: 100.0, 8: 100.0}, None),
    ],
)
def test_it_lies_where_locking_is_ahead_from_then_on(optimistic: Rates, clients: int | None) -> None:
    found = crossing_of(optimistic)
    assert (found.clients, found.up_to, found.runs) == (clients, 8, 1)


def test_each_pair_of_runs_has_its_own() -> None:
    early, late = {1: 120.0, 2: 90.0, 4: 80.0, 8: 70.0}, {1: 120.0, 2: 110.0, 4: 105.0, 8: 70.0}
    found = crossing_of(early, late, early)
    assert (found.seen, found.clients) == ((2, 2, 8), 2)


def test_where_most_runs_show_none_it_is_not_seen() -> None:
    never, once = dict.fromkeys(LOCKING, 200.0), {1: 120.0, 2: 110.0, 4: 105.0, 8: 70.0}
    found = crossing_of(never, once, never)
    assert (found.seen, found.clients, found.runs) == ((8,), None, 3)


NEVER, ONCE = dict.fromkeys(LOCKING, 200.0), {1: 120.0, 2: 110.0, 4: 90.0, 8: 70.0}


@pytest.mark.parametrize(
    ("optimistic", "kept_up"),
    [
        ([NEVER], True),
        ([LOCKING], True),
        ([{1: 120.0, 2: 90.0, 4: 80.0, 8: 101.0}], False),  # behind, and ahead again
        ([NEVER, NEVER, {1: 120.0, 2: 99.0, 4: 120.0, 8: 120.0}], True),  # in one run of three
        ([NEVER, NEVER, ONCE], False),
        ([NEVER, ONCE], False),
    ],
)
def test_optimism_kept_up_where_it_was_never_behind(optimistic: list[Rates], kept_up: bool) -> None:
    found = crossing_of(*optimistic)
    assert (found.clients, found.kept_up) == (None, kept_up)


def test_optimism_has_not_kept_up_with_what_may_be_faster_than_seen() -> None:
    rows = [row("version", n, 200.0, wait="try") for n in (2, 4, 8)]
    rows += [row("for-update", n, 100.0, bounds=("machine",) if n == 4 else ()) for n in (2, 4, 8)]
    (found,) = crossings(lines_of(rows))
    assert (found.hidden, found.kept_up) == ((), False)


@pytest.mark.parametrize(
    ("wait", "at_once"), [("try", True), ("block", True), ("poll-5ms", False), ("backoff-1ms-32ms-full", False)]
)
def test_an_optimist_without_an_interval_begins_again_at_once(wait: str, at_once: bool) -> None:
    (found,) = lines_of([row("version", 4, 300.0, wait=wait)])
    assert found.at_once is at_once


@pytest.mark.parametrize(
    ("way", "hidden", "clients", "up_to"), [("version", (8,), None, 4), ("for-update", (4,), 8, 8)]
)
def test_where_the_lesser_number_is_only_a_limit_it_is_passed_over(
    way: str, hidden: tuple[int, ...], clients: int | None, up_to: int
) -> None:
    """Optimism is ahead with 4 contenders and behind with 8. What is behind is as fast as shown, or faster."""
    bounds = {"version": (), "for-update": (), way: ("machine",)}
    rows = [row("version", n, rate, wait="try", bounds=bounds["version"]) for n, rate in ((4, 110.0), (8, 90.0))]
    rows += [row("for-update", n, 100.0, bounds=bounds["for-update"]) for n in (4, 8)]
    (found,) = crossings(lines_of(rows))
    assert (found.hidden, found.clients, found.up_to) == (hidden, clients, up_to)


def test_a_limit_with_the_most_contenders_does_not_hide_what_fewer_tell() -> None:
    rows = [row("version", n, 90.0, wait="try", bounds=("generator",) if n == 32 else ()) for n in (1, 2, 32)]
    rows += [row("for-update", n, rate) for n, rate in ((1, 80.0), (2, 100.0), (32, 100.0))]
    (found,) = crossings(lines_of(rows))
    assert (found.hidden, found.clients, found.up_to) == ((32,), 2, 2)


def test_other_records_or_another_computing_are_another_job() -> None:
    rows = line("version", LOCKING, wait="try") + line("for-update", LOCKING, keys=16)
    assert crossings(lines_of([*rows, *line("for-update", LOCKING, compute_ms=10.0)])) == ()


def test_a_line_is_one_way_over_all_numbers_of_contenders() -> None:
    lines = lines_of(whole())
    assert [(one.system, one.workload.way, one.workload.wait) for one in lines] == [
        ("redis", "lock", "block"), ("redlock", "lock", "block"), ("zookeeper", "lock", "block"),
        ("postgres-row", "for-update", "block"), ("postgres-row", "version", "backoff-1ms-32ms-full"),
        ("postgres-row", "version", "try"), ("postgres-row", "idempotency-key", "block"),
    ]  # fmt: skip
    assert all([cell.workload.clients for cell in one.cells] == [1, 2, 8, 32] for one in lines)
    assert [one.fenced for one in lines if one.by_lock] == [True, False, True]


def test_harm_is_counted_in_void_runs_too() -> None:
    (found,) = lines_of([row("unguarded", 4, 300.0, lost=7)])
    assert found.harmed == 7
