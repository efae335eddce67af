"""The scenario that everything is about: a holder that is stopped between its check and its write."""

import pytest

from bench.hazards.scenario import load_scenario
from tests.hazards.scenarios.conftest import Play

LEASED = ("redis", "redlock", "zookeeper", "etcd", "dynamodb")
WITH_TOKEN = ("redis", "zookeeper", "etcd", "dynamodb")


@pytest.mark.parametrize("system", LEASED)
def test_without_a_fence_the_late_write_is_taken(play: Play, system: str) -> None:
    _, checked = play("gc-pause", system, fence=False)
    short, long = checked.trials
    assert checked.staging == ()
    assert (short.overlap_ns, short.stale_accepted, short.lost_updates) == (0, 0, 0)
    assert long.overlap_ns > 0
    assert (long.stale_accepted, long.stale_refused, long.lost_updates) == (1, 0, 1)


@pytest.mark.parametrize("system", WITH_TOKEN)
def test_with_a_fence_the_late_write_is_refused(play: Play, system: str) -> None:
    _, checked = play("gc-pause", system, fence=True)
    _, long = checked.trials
    assert checked.staging == ()
    assert (long.stale_accepted, long.stale_refused, long.lost_updates, long.fence_faults) == (0, 1, 0, 0)


@pytest.mark.parametrize("system", load_scenario("fence-gap").systems)
def test_a_fence_has_a_gap_until_the_new_token_was_presented(play: Play, system: str) -> None:
    """Staged, not left to luck: the late write comes between the new holder's read and its first write."""
    history, checked = play("fence-gap", system)
    assert checked.staging == ()
    at_write, before_read = checked.trials
    assert (at_write.parameters["presented"], before_read.parameters["presented"]) == ("at_write", "before_read")
    assert (at_write.stale_accepted, at_write.stale_refused, at_write.lost_updates) == (1, 0, 1)
    assert not at_write.stale_writes[0].by_token, "the resource had not seen a greater one"
    assert (before_read.stale_accepted, before_read.stale_refused, before_read.lost_updates) == (0, 1, 0)
    assert before_read.stale_writes[0].by_token
    assert [trial.measures["late_accepted"] for trial in history.trials] == [1, 0]
    assert [len(trial.presentations) for trial in history.trials] == [0, 2]
    assert not any(trial.fence_faults or trial.token_faults or trial.unknown for trial in checked.trials)


def test_the_gap_is_played_by_pauses_as_well_where_there_is_a_token_and_a_lease() -> None:
    """And no run of the quick set is spent on it."""
    scenario = load_scenario("gc-pause")
    for system in scenario.systems:
        runs = list(scenario.combinations(scenario.full, system))
        played = [run for run in runs if run["presented"] == "at_write"]
        assert len(played) == (system in WITH_TOKEN)
        assert all(run["presented"] == "before_read" for run in scenario.combinations(scenario.quick, system))
        for run in played:
            assert len(scenario.trials_of({**run, "system": system}, full=True)) == 5


def test_without_a_token_a_fence_cannot_help(play: Play) -> None:
    _, checked = play("gc-pause", "redlock", fence=True)
    assert checked.trials[1].stale_accepted == 1


def test_a_postgres_row_stays_with_its_stopped_holder(play: Play) -> None:
    history, checked = play("gc-pause", "postgres-row", fence=False)
    assert all(trial.overlap_ns == 0 and not trial.stale_writes for trial in checked.trials)
    paused = history.trials[1]
    # There is no lease to run out: whoever waits, waits for as long as the holder is stopped.
    assert paused.measures["wait_ms"] >= paused.measures["pause_ms"]
