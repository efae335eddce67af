"""What a late release frees, what a second write may do, and what each kind of resource refuses."""

from contextlib import closing

import pytest

from bench.hazards.resources.postgres_own_transaction import PostgresOwnTransaction
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.registry import system as registered
from tests.hazards.scenarios.conftest import Play


@pytest.mark.parametrize("system", ["redis", "etcd", "postgres-row"])
def test_a_late_release_frees_nothing(play: Play, system: str) -> None:
    history, checked = play("late-release", system)
    assert checked.staging == ()
    (trial,) = history.trials
    assert trial.measures["stolen"] == 0
    assert trial.notes["other.acquire"].startswith("busy")
    assert trial.notes["second.release"] == "released"


def test_a_plain_delete_frees_the_lock_of_another(play: Play) -> None:
    history, checked = play("late-release", "redis-plain-delete")
    assert checked.staging == ()
    (trial,) = history.trials
    assert trial.notes["holder.release"] == "released"
    assert trial.measures["stolen"] == 1
    second, other = (
        next(belief for belief in trial.beliefs if belief.actor == name and belief.key == trial.beliefs[0].key)
        for name in ("second", "other")
    )
    assert second.until_ns is None or other.from_ns < second.until_ns, "both hold it"


def test_a_second_write_under_one_grant(play: Play) -> None:
    history, checked = play("second-write", "redis")
    assert checked.staging == ()
    below, at_most = history.trials
    assert (below.measures["second_accepted"], at_most.measures["second_accepted"]) == (1, 0)
    assert sum(judged.fence_faults for judged in checked.trials) == 0


@pytest.mark.parametrize("kind", ["redis-hash", "file"])
def test_a_resource_refuses_a_stale_write_with_the_fence_only(play: Play, kind: str) -> None:
    """Every kind has a suite of its own (tests/hazards/resources); here a real late holder is the writer."""
    _, checked = play("resources", "redis", resource=kind)
    assert checked.staging == ()
    without, fenced = checked.trials
    assert (without.stale_accepted, without.stale_refused) == (1, 0)
    assert (fenced.stale_accepted, fenced.stale_refused) == (0, 1)


def test_only_a_row_lock_has_a_transaction_to_be_part_of() -> None:
    memory = registered("memory").client_class.open(Endpoint((("in-process", 0),)), ClientOptions())
    resource = PostgresOwnTransaction(Endpoint((("127.0.0.1", 1),)), "space")
    with closing(memory), pytest.raises(TypeError, match="MemoryLock has no transaction"):
        resource.join(memory)
