"""Holders and waiters that stand still: the page's own scenario, a watchdog, a transaction, a place in a queue."""

import pytest

from bench.hazards.scenario import load_scenario
from bench.records.hazards import EndOfBelief
from bench.systems.registry import SYSTEMS
from tests.hazards.scenarios.conftest import Play


def test_the_page_scenario_has_the_numbers_of_the_page() -> None:
    scenario = load_scenario("page-scenario")
    assert (scenario.parameters["ttl_ms"], scenario.parameters["pause_ms"]) == (5000, 8000)


def test_the_page_scenario_in_a_tenth_of_its_time(play: Play) -> None:
    history, checked = play("page-scenario", "redis", ttl_ms=500, pause_ms=800)
    assert checked.staging == ()
    without, fenced = checked.trials
    assert (without.parameters["fence"], fenced.parameters["fence"]) == (False, True)
    assert without.overlap_ns > 0
    assert (without.stale_accepted, without.lost_updates) == (1, 1)
    assert fenced.overlap_ns > 0
    assert (fenced.stale_accepted, fenced.stale_refused, fenced.lost_updates) == (0, 1, 0)
    assert all(trial.measures["pause_ms"] >= 800 and trial.measures["wait_ms"] < 800 for trial in history.trials)


@pytest.mark.parametrize("system", ["redis", "zookeeper"])
def test_a_stopped_process_stops_its_watchdog(play: Play, system: str) -> None:
    history, checked = play("watchdog", system, stalled="process")
    assert checked.staging == ()
    assert history.trials[0].beliefs[0].renewals >= 2, "the watchdog had held the lease until then"
    assert checked.trials[0].overlap_ns > 0
    assert checked.trials[0].stale_accepted == 1


@pytest.mark.parametrize("system", ["redis", "postgres-row"])
def test_a_stalled_worker_is_covered_by_its_watchdog(play: Play, system: str) -> None:
    history, checked = play("watchdog", system, stalled="worker")
    assert checked.staging == ()
    (stall,) = history.trials[0].faults
    assert stall.kind == "stall"
    assert checked.trials[0].overlap_ns == 0
    assert not checked.trials[0].stale_writes
    # The watchdog renews while another thread looks whether the lock is lost: neither may disturb the other.
    assert history.trials[0].notes["holder.release"] == "released"
    assert history.trials[0].measures["wait_ms"] > history.trials[0].measures["pause_ms"]


def test_a_pinned_row_and_one_that_the_server_frees(play: Play) -> None:
    history, checked = play("idle-in-transaction", "postgres-row")
    assert checked.staging == ()
    pinned, freed = history.trials
    assert pinned.measures["pinned_ms"] >= 3 * pinned.ttl_ms, "as long as the holder is stopped"
    assert pinned.measures["late_write_accepted"] == 1, "late by no clock of the lock: it still held"
    assert checked.trials[0].overlap_ns == 0
    assert freed.ttl_ms / 2 <= freed.measures["pinned_ms"] < 3 * freed.ttl_ms
    assert freed.measures["late_write_accepted"] == 0
    (late,) = [write for write in freed.writes if write.actor == "holder"]
    assert late.accepted is None
    assert "the lock's transaction is gone" in late.reason
    (contender,) = [write for write in freed.writes if write.actor == "contender"]
    assert (contender.order, contender.value_before) == (1, 0), "the resource has never seen the other one"


@pytest.mark.parametrize("system", ["zookeeper", "etcd"])
def test_a_place_in_the_queue_that_has_died_is_no_grant(play: Play, system: str) -> None:
    history, checked = play("lease-dies-in-queue", system)
    assert checked.staging == ()
    (trial,) = history.trials
    assert trial.measures["next_served"] == 1
    for waiter in ("waiter", "neglected") if system == "etcd" else ("waiter",):
        assert trial.notes[f"{waiter}.acquire"].startswith("lost"), trial.notes
    assert {belief.actor for belief in trial.beliefs} == {"holder", "next"}
    assert checked.trials[0].overlap_ns == 0


@pytest.mark.parametrize("system", ["redis", "postgres-row"])
def test_a_crashed_holder_is_succeeded(play: Play, system: str) -> None:
    history, checked = play("crash-recovery", system)
    assert checked.staging == ()
    granularity_ms = SYSTEMS[system].client_class.capabilities.ttl_granularity_ms
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        assert judged.overlap_ns == 0
        assert trial.beliefs[0].ended_by is EndOfBelief.KILLED
        # It comes right after a renewal: the whole TTL has to pass, where there is one, and the next poll after it.
        least_ms = 0 if system == "postgres-row" else trial.ttl_ms * 0.9
        most_ms = trial.ttl_ms if system == "postgres-row" else trial.ttl_ms + granularity_ms + 1000
        assert least_ms <= trial.measures["recovery_ms"] <= most_ms
