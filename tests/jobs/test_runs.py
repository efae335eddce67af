"""Whole runs: the load drives the jobs, and the run's own check asks the table."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from bench.jobs.keeper import keeper
from bench.jobs.records import make, schema_of
from bench.jobs.way import Done, Work
from bench.jobs.ways import WAYS
from bench.load.runner import facts_of
from bench.records.schema import RunPlan
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.wait import Wait
from tests.load.runs import Ran, carry_out, plan_of


class Up:
    """A supervisor whose one server is up."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.source, self.pids = endpoint, "native", dict[str, int]()

    def running(self, spec: ServerSpec) -> "Up":
        return self


def planned(**workload: Any) -> RunPlan:
    return plan_of(keeper().name, **{"clients": 4, "wait": "block", "compute_ms": 1.0, **workload})


def run(endpoint: Endpoint, folder: Path, **workload: Any) -> Ran:
    return carry_out(planned(**workload), folder, cast(Supervisor, Up(endpoint)))


def broken_off(endpoint: Endpoint, plan: RunPlan, jobs: int) -> None:
    """An attempt at the run that did some of its jobs, the last messages first, and never asked its table."""
    does, schema = plan.workload, schema_of(plan.seed)
    make(endpoint, schema, does.shared_keys)
    work = Work(does.name, 0.0, time.sleep)
    with closing(WAYS[does.way](endpoint, schema, work, Wait.parse(does.wait), 5_000)) as way:
        for job in range(jobs):
            assert isinstance(way.run((-1 - job) % does.shared_keys), Done)


def test_a_run_of_jobs_checks_itself_on_the_table(endpoint: Endpoint, tmp_path: Path) -> None:
    """Each message is delivered twice; two load processes, whose counts are added up."""
    ran = run(endpoint, tmp_path, name="consume", keys=20_000, way="version", wait="try", processes=2)
    jobs = ran.measured.jobs
    assert jobs is not None
    assert 1.5 * jobs.due < jobs.acknowledged <= 2 * jobs.due
    assert jobs.writes == jobs.due > 0
    assert sum(jobs.retries.values()) == ran.measured.counts["acquire/acquired"]
    assert all(ran.checks[name].passed for name in ("jobs", "locust_agrees", "counts_agree", "errors", "messages"))


@pytest.mark.parametrize(("name", "keys"), [("update", 1), ("consume", 5_000)])
def test_a_run_that_is_begun_again_finds_nothing_of_its_first_attempt(
    endpoint: Endpoint, tmp_path: Path, name: str, keys: int
) -> None:
    plan = planned(name=name, keys=keys, way="for-update")
    broken_off(endpoint, plan, 100)
    ran = carry_out(plan, tmp_path, cast(Supervisor, Up(endpoint)))
    jobs = ran.measured.jobs
    assert jobs is not None
    assert (jobs.repeated, jobs.missing) == (0, 0)
    assert jobs.writes == jobs.due > 0
    assert ran.checks["jobs"].passed


def test_a_run_says_which_servers_kept_its_records(endpoint: Endpoint, tmp_path: Path) -> None:
    """The lock's are others: here there are none."""
    plan = plan_of("memory", name="update", keys=1, way="lock", clients=2, wait="block")
    ran = carry_out(plan, tmp_path, cast(Supervisor, Up(endpoint)))
    kept = ran.measured.records_servers
    assert kept is not None
    assert (kept.system, kept.source) == (keeper().name, "native")
    assert kept.facts_before == kept.facts_after == facts_of(keeper(), endpoint, "after")
    assert {"fsync", "synchronous_commit"} <= kept.facts_before.durability.keys()
    assert kept.facts_before.identity in ran.checks["server_identity"].observed
    assert ran.measured.source == "none"


def test_a_run_that_uses_up_its_messages_is_void(endpoint: Endpoint, tmp_path: Path) -> None:
    """Afterwards a job only sees that its message was consumed."""
    ran = run(endpoint, tmp_path, name="consume", keys=10, way="idempotency-key", compute_ms=0.0)
    assert (ran.checks["jobs"].passed, ran.checks["messages"].passed) == (True, False)


def test_a_planted_way_without_a_guard_voids_its_run(endpoint: Endpoint, tmp_path: Path) -> None:
    ran = run(endpoint, tmp_path, name="update", keys=1, way="unguarded")
    assert ran.measured.jobs is not None
    assert ran.measured.jobs.lost_updates > 0
    assert not ran.checks["jobs"].passed
