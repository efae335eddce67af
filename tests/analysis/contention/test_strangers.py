"""Strangers and the clients that meet are two populations: no number of one depends on the rows of the other."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.analysis.contention.measures import contention
from bench.analysis.contention.queues import EVER
from bench.analysis.contention.strangers import populations
from bench.analysis.from_events import STRANGERS_STALLS, from_events
from bench.analysis.holds import Holds, Refused, RunEvents
from bench.analysis.selfchecks import self_checks
from bench.load.phases import phases_of
from bench.load.recorder import Recorder
from bench.load.rows import CODES, NO_TOKEN, NOTHING_HELD, as_rows
from bench.records.schema import STRANGERS, RunPlan
from bench.records.workload import Workload
from bench.systems.base import Outcome
from tests.load.test_selfchecks import measured

HOLD, RELEASE = 1_000_000, 50_000
Row = tuple[int, int, int, int, bool]  # client, key, asked, answered, granted


def plan(clients: int, strangers: int, keys: int = 1) -> RunPlan:
    workload = Workload(name="contended", clients=clients, keys=keys, strangers=strangers, wait="block", measure_s=1.0)
    return RunPlan(campaign_id="c", run_id="r", position=0, system="redis", workload=workload, repetition=1, seed=1)


def events_of(rows: Sequence[Row]) -> RunEvents:
    client, key, asked, answered, granted = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    got, lost = granted == 1, granted == 0
    until = answered[got] + HOLD
    holds = Holds.of(
        client[got], key[got], asked[got], answered[got], until, client[got] * 0 - 1, freed_ns=until + RELEASE
    )
    outcome = np.array(["timeout"] * int(lost.sum()), dtype=np.str_)
    refused = Refused(key[lost], asked[lost], asked[lost], answered[lost], outcome, client[lost])
    acquires = Counter(acquired=int(got.sum()), timeout=int(lost.sum()))
    latency = holds.acquired_ns - holds.intended_ns
    return RunEvents(dict(+acquires), holds, len(set(client.tolist())), holds.intended_ns, latency, refused)


def told(asked: RunPlan, rows: Sequence[Row]) -> dict[str, float]:
    """Of a window that everything lies in."""
    events = events_of(rows)
    return from_events(asked, events, events, EVER)


def row(clients: st.SearchStrategy[int], keys: st.SearchStrategy[int]) -> st.SearchStrategy[Row]:
    asked, took = st.integers(0, 10**9), st.integers(1, 10**8)
    return st.tuples(clients, keys, asked, took, st.booleans()).map(lambda one: (*one[:3], one[2] + one[3], one[4]))


MEETING = st.lists(row(st.integers(100, 107), st.integers(0, 1)), max_size=60)
BESIDE = st.lists(row(st.integers(0, 7), st.integers(2, 9)), max_size=60)


def apart(found: dict[str, float], strangers: bool) -> dict[str, float]:
    return {name: value for name, value in found.items() if name.startswith(STRANGERS) is strangers}


@settings(deadline=None)
@given(MEETING, BESIDE, BESIDE)
def test_what_is_said_of_waiting_does_not_depend_on_strangers(
    meeting: list[Row], beside: list[Row], others: list[Row]
) -> None:
    asked = plan(16, 8, keys=2)
    one, other = (told(asked, [*meeting, *them]) for them in (beside, others))
    assert apart(one, False) == apart(other, False)
    alone = told(plan(8, 0, keys=2), meeting)
    assert apart(one, False) == alone, "and is what the same clients get without any"


@settings(deadline=None)
@given(MEETING, MEETING, BESIDE)
def test_what_strangers_notice_does_not_depend_on_the_rows_of_others(
    meeting: list[Row], others: list[Row], beside: list[Row]
) -> None:
    asked = plan(16, 8, keys=2)
    one, other = (told(asked, [*them, *beside * 10]) for them in (meeting, others))
    assert apart(one, True) == apart(other, True)


@settings(deadline=None)
@given(MEETING, BESIDE)
def test_a_split_loses_nothing(meeting: list[Row], beside: list[Row]) -> None:
    whole = events_of([*meeting, *beside])
    ours, theirs = populations(plan(16, 8, keys=2).workload, whole)
    assert theirs is not None
    assert Counter(ours.acquires) + Counter(theirs.acquires) == Counter(whole.acquires)
    assert (ours.clients + theirs.clients, len(ours.holds) + len(theirs.holds)) == (whole.clients, len(whole.holds))
    for part, rows in ((ours, meeting), (theirs, beside)):
        assert sorted(part.latency_ns.tolist()) == sorted(one[3] - one[2] for one in rows if one[4])
        assert part.clients == len({one[0] for one in rows})
        assert set(part.refused.client.tolist()) == {one[0] for one in rows if not one[4]}


def test_without_strangers_the_events_are_the_runs_own() -> None:
    whole = events_of([(0, 0, 0, 5, True), (1, 7, 0, 5, False)])
    assert populations(plan(2, 0).workload, whole) == (whole, None)


@settings(deadline=None)
@given(MEETING, BESIDE, st.booleans())
def test_histograms_and_the_processes_counts_are_split_alike(
    meeting: list[Row], beside: list[Row], keep_rows: bool
) -> None:
    recorder, alone = Recorder(keep_rows, strangers_from=2), Recorder(keep_rows)
    for client, key, asked, answered, granted in [*meeting, *beside]:
        outcome = CODES[Outcome.ACQUIRED if granted else Outcome.BUSY]
        ends = (answered + HOLD, answered + HOLD + RELEASE) if granted else (0, 0)
        released = CODES[Outcome.RELEASED] if granted else NOTHING_HELD
        for one in (recorder, *([alone] if key < 2 else [])):
            one.record(client, key, asked, asked, answered, *ends, outcome, released, NO_TOKEN)
    split, ours = phases_of(as_rows(recorder.packed_rows), 2), phases_of(as_rows(alone.packed_rows))
    assert recorder.counts() == {name: one.total for name, one in split.items()}
    assert {name: one.counts for name, one in split.items() if not name.startswith(STRANGERS)} == {
        name: one.counts for name, one in ours.items()
    }
    assert split.get(f"{STRANGERS}acquire/acquired") is None or any(one[4] for one in beside)


def in_turn(clients: Sequence[int], grants: int, key: int = 0) -> list[Row]:
    """Clients that get one key in turn."""
    step = 2 * HOLD
    return [(clients[n % len(clients)], key, n * step, n * step + 100, True) for n in range(grants)]


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_numbers_of_clients_have_gaps_and_nobody_is_in_them(processes: int) -> None:
    """Each process numbers its clients from a hundred thousand times its own number, strangers first."""
    meeting = [100_000 * (n % processes) + 5 + n // processes for n in range(8)]
    strangers = [100_000 * (n % processes) + n // processes for n in range(8)]
    rows = in_turn(meeting, 400)
    rows += [one for place, client in enumerate(strangers) for one in in_turn([client], 50 * place, key=1 + place)]
    asked = plan(16, 8)
    ours = populations(asked.workload, events_of(rows)).meeting
    found = contention(asked.workload, ours)
    assert found["jain_index"] == pytest.approx(1.0)
    assert found["clients_without_grant"] == 0.0
    assert ours.starved(asked.workload.meeting_clients) == 0
    without = [one for one in rows if one[0] not in meeting[:2]]
    found = contention(asked.workload, populations(asked.workload, events_of(without)).meeting)
    assert found["clients_without_grant"] == 2.0
    assert found["jain_index"] == pytest.approx(0.75)


def test_one_client_that_meets_nobody_waits_for_nobody() -> None:
    """The control: strangers are many, and the key has one client."""
    asked = plan(9, 8)
    rows = in_turn([8], 400) + [one for client in range(8) for one in in_turn([client], 400, key=1 + client)]
    found = told(asked, rows)
    assert found["jain_index"] == 1.0
    assert found["changed_hands_share"] == 0.0
    assert "hand_off_us_p50" not in found
    assert STRANGERS_STALLS in found
    (check,) = (one for one in self_checks(asked, measured(), events_of(rows)) if one.name == "contention")
    assert (check.passed, check.message) == (True, "clients were not meant to meet")


def test_strangers_that_wait_for_a_connection_are_no_contention() -> None:
    rows = [(n % 2, 0, n * 10 * HOLD, n * 10 * HOLD + 100, True) for n in range(50)] + [(9, 1, 0, 10**9, False)] * 5
    (check,) = (one for one in self_checks(plan(3, 1), measured(), events_of(rows)) if one.name == "contention")
    assert not check.passed
    assert check.observed == "0 holds had to wait, 0 acquires were refused, 0 clients waited throughout"


def test_two_strangers_with_one_key_are_still_two_holders() -> None:
    rows = [*in_turn([0, 1], 50), (8, 1, 0, 100, True), (9, 1, 0, 200, True)]
    (check,) = (one for one in self_checks(plan(4, 2), measured(), events_of(rows)) if one.name == "mutual_exclusion")
    assert not check.passed
