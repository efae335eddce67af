"""Scenarios on the model: what each kind of lock is known for, and what the model says it does not know."""

import pytest

from bench.errors import LockbenchError
from bench.hazards.checker import check_trial
from bench.hazards.scenario import load_scenario
from bench.records.hazards import Scalar, Trial, TrialChecked
from bench.simulator.play import play, unmodelled
from bench.simulator.scene import NotModelled

LEASES = ("redis", "redlock", "zookeeper", "etcd", "dynamodb")


def played(name: str, system: str, **parameters: Scalar) -> tuple[Trial, TrialChecked]:
    scenario = load_scenario(name)
    values = {**scenario.parameters, **scenario.per_system.get(system, {}), **parameters, "system": system}
    done = play(scenario, values, parameters)
    assert not done.staging
    return done.trial, check_trial(done.trial)


@pytest.mark.parametrize("system", LEASES)
def test_a_pause_longer_than_the_lease_makes_two_holders(system: str) -> None:
    _, off = played("page-scenario", system, fence=False)
    assert off.overlap_ns > 1_000_000_000
    assert off.stale_accepted == 1


@pytest.mark.parametrize("system", [name for name in LEASES if name != "redlock"])
def test_the_fence_refuses_the_late_write(system: str) -> None:
    _, on = played("page-scenario", system, fence=True)
    assert (on.stale_accepted, on.stale_refused, on.lost_updates) == (0, 1, 0)


def test_a_connection_holds_its_row_however_long_it_is_stopped() -> None:
    _, checked = played("page-scenario", "postgres-row")
    assert checked.overlap_ns == 0


@pytest.mark.parametrize(("presented", "accepted"), [("at_write", True), ("before_read", False)])
def test_the_gap_of_the_fence(presented: str, accepted: bool) -> None:
    trial, checked = played("fence-gap", "redis", presented=presented)
    late = next(write for write in trial.writes if write.actor == "holder")
    assert late.accepted is accepted
    assert checked.lost_updates == accepted


@pytest.mark.parametrize(("jump_ms", "broken"), [(2, False), (20, True)])
def test_redlocks_smallest_step_of_one_clock(jump_ms: int, broken: bool) -> None:
    # 1 % of the TTL and 2 ms are set aside for drift, and the second client asks 6 ms before the validity's end.
    _, checked = played("redlock-clock", "redlock", jump_ms=jump_ms)
    assert bool(checked.overlaps) is broken


def test_the_same_play_is_the_same_history() -> None:
    assert played("gc-pause", "etcd") == played("gc-pause", "etcd")


def test_what_the_model_does_not_know_is_named() -> None:
    scenario = load_scenario("stalled-leader")
    values = {**scenario.parameters, "system": "etcd"}
    assert unmodelled(scenario, values) == ("the fault server_stall",)
    with pytest.raises(NotModelled, match="not modelled: the fault server_stall"):
        play(scenario, values, {})
    assert issubclass(NotModelled, LockbenchError)
