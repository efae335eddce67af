"""Little's law holds for every set of clients that are always at work, and for none that has too many or too few."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.load_checks import littles_law
from bench.load.phases import THINK, WAKE, generator_gaps, phases_of
from bench.load.recorder import Recorder
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD, Rows, as_rows, column
from bench.records.schema import Check
from bench.systems.base import Outcome
from tests.load.test_selfchecks import events, measured, plan

WINDOW_NS = 1_000_000_000


def busy_clients(seed: int, clients: int, acquire_ns: int, hold_ns: int, think_ns: int) -> Recorder:
    """Clients at work without a pause; an operation counts when it starts within the window."""
    dice = np.random.default_rng(seed)
    recorder = Recorder(keep_rows=True)
    for client in range(clients):
        at_ns = -int(dice.integers(0, acquire_ns + hold_ns + think_ns + 1))
        while at_ns < WINDOW_NS:
            at_ns += int(dice.integers(0, 2 * think_ns + 1))
            answered = at_ns + int(dice.integers(1, 2 * acquire_ns))
            got = dice.random() < 0.8
            sent = answered + int(dice.integers(0, 2 * hold_ns + 1)) if got else 0
            freed = sent + 1000 if got else 0
            if 0 <= at_ns < WINDOW_NS:
                outcome = CODES[Outcome.ACQUIRED if got else Outcome.BUSY]
                released = CODES[Outcome.RELEASED] if got else NOTHING_HELD
                recorder.record(client, 0, at_ns, at_ns, answered, sent, freed, outcome, released, NO_TOKEN)
            at_ns = freed if got else answered
    return recorder


def judged(recorder: Recorder, clients: int, seen: int, name: str = "contended") -> Check:
    rows = as_rows(recorder.packed_rows)
    phase, gaps = generator_gaps(rows, name == "rate")
    recorded = {name: histogram.encode() for name, histogram in phases_of(rows).items()}
    run = plan(name=name, clients=clients)
    record = measured(histograms={**recorded, phase: gaps.encode()}, counts={}, window_s=WINDOW_NS / 1e9)
    return littles_law(run, record, events(clients=seen))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(10_000, 5_000_000),
    st.integers(0, 5_000_000),
    st.integers(0, 2_000_000),
)
def test_clients_that_are_always_at_work_keep_the_law(
    seed: int, clients: int, acquire_ns: int, hold_ns: int, think_ns: int
) -> None:
    # Few enough operations for a test, and each short against the window.
    acquire_ns += 2_000_000
    recorder = busy_clients(seed, clients, acquire_ns, hold_ns, think_ns)
    found = judged(recorder, clients, clients)
    assert found.passed, found.observed


def test_fewer_clients_than_the_plan_says_break_it() -> None:
    recorder = busy_clients(1, 4, 1_000_000, 0, 100_000)
    assert judged(recorder, 4, 4).passed
    found = judged(recorder, 6, 6)
    assert not found.passed
    assert "is not recorded" in found.message
    assert judged(recorder, 6, 4).passed, "two that waited all the time have no record"


def test_operations_that_are_counted_twice_break_it() -> None:
    recorder = busy_clients(1, 4, 1_000_000, 0, 100_000)
    twice = Recorder(keep_rows=True)
    for other in (0, 100):
        for client, *rest in as_rows(recorder.packed_rows).tolist():
            twice.record(client + other, *rest)
    found = judged(twice, 4, 4)
    assert not found.passed
    assert "more time was recorded than the clients had" in found.message


def test_idle_clients_of_an_open_loop_are_no_fault() -> None:
    recorder = busy_clients(1, 2, 1_000_000, 0, 100_000)
    assert judged(recorder, 16, 2, "rate").passed


def rows(*operations: tuple[int, int, int, int, int]) -> Rows:
    """Client, intended, started, acquired, freed."""
    recorder = Recorder(keep_rows=True)
    for client, intended, started, acquired, freed in operations:
        recorder.record(client, 0, intended, started, acquired, acquired if freed else 0, freed, 0, 0, NO_TOKEN)
    return as_rows(recorder.packed_rows)


def test_think_is_from_the_end_of_one_operation_to_the_clients_next() -> None:
    found = rows((0, 0, 100, 110, 120), (1, 0, 101, 102, 0), (0, 0, 150, 160, 170), (1, 0, 109, 130, 140))
    name, gaps = generator_gaps(found, open_loop=False)
    assert name == THINK
    assert dict(gaps.counts) == {30: 1, 7: 1}


def test_wake_is_counted_from_when_both_the_arrival_and_its_client_were_there() -> None:
    found = rows((0, 90, 100, 110, 120), (0, 115, 123, 160, 170), (0, 180, 184, 185, 190))
    name, gaps = generator_gaps(found, open_loop=True)
    assert name == WAKE
    assert dict(gaps.counts) == {10: 1, 3: 1, 4: 1}


@pytest.mark.parametrize("open_loop", [True, False])
def test_no_operations_have_no_gaps(open_loop: bool) -> None:
    assert generator_gaps(rows(), open_loop)[1].total == 0


def test_rows_may_come_in_any_order() -> None:
    recorder = busy_clients(3, 3, 1_000_000, 10_000, 50_000)
    ordered = as_rows(recorder.packed_rows)
    shuffled = ordered[np.random.default_rng(1).permutation(len(ordered))]
    assert generator_gaps(shuffled, False)[1].counts == generator_gaps(ordered, False)[1].counts
    assert len(column(ordered, "client")) > 100


def test_strangers_are_part_of_the_law() -> None:
    """Four clients, of which two have keys of their own: the time of all of them adds up."""
    recorder = Recorder(keep_rows=True)
    for client, _, *rest in as_rows(busy_clients(1, 4, 1_000_000, 0, 100_000).packed_rows).tolist():
        recorder.record(client, max(0, client - 1), *rest)
    found = as_rows(recorder.packed_rows)
    phase, gaps = generator_gaps(found, False)
    recorded = {name: histogram.encode() for name, histogram in phases_of(found, 1).items()}
    assert {name.partition("/")[0] for name in recorded} >= {"acquire", "stranger_acquire"}
    record = measured(histograms={**recorded, phase: gaps.encode()}, counts={}, window_s=WINDOW_NS / 1e9)
    asked = plan(name="contended", clients=4, strangers=2)
    assert littles_law(asked, record, events(clients=4)).passed
    without = {name: text for name, text in record.histograms.items() if not name.startswith("stranger_")}
    broken = littles_law(asked, record.model_copy(update={"histograms": without}), events(clients=4))
    assert not broken.passed
