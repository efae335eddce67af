"""Whole runs: the load drives the jobs, and the run's own check asks the table."""

from pathlib import Path
from typing import Any, cast

from bench.jobs.keeper import keeper
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from tests.load.runs import Ran, carry_out, plan_of


class Up:
    """A supervisor whose one server is up."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.source, self.pids = endpoint, "native", dict[str, int]()

    def running(self, spec: ServerSpec) -> "Up":
        return self


def run(endpoint: Endpoint, folder: Path, **workload: Any) -> Ran:
    plan = plan_of(keeper().name, **{"clients": 4, "wait": "block", "compute_ms": 1.0, **workload})
    return carry_out(plan, folder, cast(Supervisor, Up(endpoint)))


def test_a_run_of_jobs_checks_itself_on_the_table(endpoint: Endpoint, tmp_path: Path) -> None:
    """Each message is delivered twice; two load processes, whose counts are added up."""
    ran = run(endpoint, tmp_path, name="consume", keys=20_000, way="version", wait="try", processes=2)
    jobs = ran.measured.jobs
    assert jobs is not None
    assert 1.5 * jobs.due < jobs.acknowledged <= 2 * jobs.due
    assert jobs.writes == jobs.due > 0
    assert sum(jobs.retries.values()) == ran.measured.counts["acquire/acquired"]
    assert all(ran.checks[name].passed for name in ("jobs", "locust_agrees", "counts_agree", "errors"))


def test_a_planted_way_without_a_guard_voids_its_run(endpoint: Endpoint, tmp_path: Path) -> None:
    ran = run(endpoint, tmp_path, name="update", keys=1, way="unguarded")
    assert ran.measured.jobs is not None
    assert ran.measured.jobs.lost_updates > 0
    assert not ran.checks["jobs"].passed
