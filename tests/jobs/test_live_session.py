"""Jobs on the live page: what a session's clients were answered is held against its table, each time a fresh one."""

import threading
from pathlib import Path
from typing import Any

import pytest

from bench.campaign.live.keeper import Keeper
from bench.campaign.live.session import attend
from bench.jobs.keeper import keeper as of_records
from bench.load.endpoints import to_environment
from bench.load.live import live_running
from bench.records.store import CampaignFolder, Store
from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.servers.spec import ServerSpec
from tests.campaigns import environment
from tests.jobs.test_runs import Up
from tests.load.pages import FORM, Page, opened
from tests.load.test_locks_page import moments


class Supervised:
    """As the live page asks a supervisor of servers that are up."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def running(self, spec: ServerSpec) -> Up:
        return Up(self._endpoint)

    def endpoint(self, spec: ServerSpec) -> Endpoint:
        return self._endpoint


def has_lasted(page: Page, session: int) -> bool:
    """Long enough to be kept, with jobs enough to tell?"""
    mine = [one for one in moments(page) if one["session"] == session and one["at_s"] > 4]
    return any(one["systems"][of_records().name]["outcomes"].get("acquire/acquired", 0) > 150 for one in mine)


@pytest.mark.thorough
@pytest.mark.timeout(120)
def test_two_sessions_of_jobs_are_kept_with_what_their_tables_said(endpoint: Endpoint, tmp_path: Path) -> None:
    system, (port,) = of_records(), free_ports(1)
    supervisor: Any = Supervised(endpoint)
    said: list[str] = []
    keeping = Keeper(
        lambda _: supervisor, Store(tmp_path / "runs"), environment(), said.append, lambda _: {"svg": b"<svg/>"}
    )
    form = {**FORM, "system": system.name, "beside": "", "workload": "update", "way": "version", "keys": "1"}
    with live_running([system.name], port, 1, to_environment(system, endpoint)) as (process, channel):
        attending = threading.Thread(target=attend, args=(channel, None, keeping))
        attending.start()
        with opened(port, process) as page:
            for number in (1, 2):
                answer = page.post("/swarm", {**form, "user_count": "4", "spawn_rate": "4"})
                assert answer["success"] is True, answer["message"]
                page.until(lambda number=number: has_lasted(page, number))  # type: ignore[misc]
                page.stop()
                page.until(lambda number=number: len(said) == number)  # type: ignore[misc]
    attending.join(30)
    assert [line.partition(" ")[0] for line in said] == ["kept", "kept"], said
    for name in sorted(Store(tmp_path / "runs").names(CampaignFolder)):
        (run,) = Store(tmp_path / "runs").open(CampaignFolder, name).runs()
        jobs = run.measured.jobs
        assert jobs is not None
        assert jobs.way == "version"
        assert jobs.writes == jobs.due == jobs.acknowledged > 100
        failed = {check.name: check.observed for check in run.checked.checks if not check.passed}
        assert not run.checked.void, failed
        assert "jobs" not in failed
