"""The scenario that everything is about: a holder that is stopped between its check and its write."""

import pytest

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


def test_without_a_token_a_fence_cannot_help(play: Play) -> None:
    _, checked = play("gc-pause", "redlock", fence=True)
    assert checked.trials[1].stale_accepted == 1


def test_a_postgres_row_stays_with_its_stopped_holder(play: Play) -> None:
    history, checked = play("gc-pause", "postgres-row", fence=False)
    assert all(trial.overlap_ns == 0 and not trial.stale_writes for trial in checked.trials)
    paused = history.trials[1]
    # There is no lease to run out: whoever waits, waits for as long as the holder is stopped.
    assert paused.measures["wait_ms"] >= paused.measures["pause_ms"]
