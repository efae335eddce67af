"""What is done to a run's servers before its load, and how often."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.campaign import readiness as module
from bench.campaign.load_plans import new_campaign
from bench.campaign.readiness import Readiness, readiness
from bench.records.schema import WarmUp
from bench.records.store import CampaignFolder, Store
from bench.systems.registry import server_sets, system
from tests import campaigns

REDIS, AOF, ETCD, NULL = ("redis", "redis-aof", "etcd", "null")


class Servers:
    """Stands for the supervisor: sets that say who they are, and that may be started anew."""

    def __init__(self, pid: int, nodes: int = 1) -> None:
        self.pids = {f"node {number}": pid for number in range(nodes)}
        self.lives = 1
        self.configured: list[dict[str, str]] = []

    def up(self, specs: Any) -> None:
        assert len(specs) == 1

    def configure(self, spec: Any, variant: Any) -> None:
        self.configured.append(dict(variant))

    def running(self, spec: Any) -> Any:
        return SimpleNamespace(identity=f"{spec.name}, life {self.lives}", pids=self.pids)


@pytest.fixture
def process() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as running:
        yield running.pid
        assert running.stdin is not None
        running.stdin.close()


@pytest.fixture
def warmings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []

    def warm_up(plan: Any, *_: Any) -> WarmUp:
        seen.append(plan.system)
        return WarmUp(round_s=1.0, pairs_per_s=(float(len(seen)),), change=0.0, flat=True)

    monkeypatch.setattr(module, "warm_up", warm_up)
    return seen


def folder_of(root: Path, pinned: bool, *systems: str) -> CampaignFolder:
    runs = campaigns.plans(systems=systems, workloads=["uncontended"], repetitions=1)
    return Store(root).start(CampaignFolder, new_campaign("quick", 1, runs, pinned), campaigns.environment())


def test_a_set_is_warmed_up_once_and_again_when_it_was_started_anew(
    tmp_path: Path, process: int, warmings: list[str]
) -> None:
    folder, servers = folder_of(tmp_path, True, REDIS, AOF, ETCD, NULL), Servers(process)
    redis, aof, etcd, null = folder.campaign.runs
    specs = server_sets(tuple(system(name) for name in (REDIS, AOF, ETCD)))
    with readiness(folder, servers, specs, lambda _: None) as ready:  # type: ignore[arg-type]
        first = ready.of(redis)
        assert ready.of(aof).warmed == ready.of(redis).warmed == first.warmed
        assert set(first.warmed) == {"redis"}
        assert set(ready.of(etcd).warmed) == {"etcd"}
        assert ready.of(null).warmed == {}
        assert warmings == [REDIS, ETCD], "one set of servers, whatever its settings"
        servers.lives += 1
        assert ready.of(aof).warmed != first.warmed
        assert warmings == [REDIS, ETCD, AOF]


@pytest.mark.parametrize("pinned", [True, False])
def test_servers_are_put_in_their_place_and_back(
    pinned: bool, tmp_path: Path, process: int, warmings: list[str]
) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor: nothing to share out")
    folder, servers = folder_of(tmp_path, pinned, REDIS), Servers(process)
    (plan,) = folder.campaign.runs
    with readiness(folder, servers, server_sets((system(REDIS),)), lambda _: None) as ready:  # type: ignore[arg-type]
        placement = ready.of(plan).placement
        assert os.sched_getaffinity(process) == placement.servers
        assert (placement.servers == allowed) == (not pinned)
    assert os.sched_getaffinity(process) == allowed


def test_more_nodes_than_processors_may_run_everywhere(tmp_path: Path, process: int, warmings: list[str]) -> None:
    allowed = os.sched_getaffinity(0)
    folder, servers = folder_of(tmp_path, True, ETCD), Servers(process, nodes=len(allowed))
    (plan,) = folder.campaign.runs
    with readiness(folder, servers, server_sets((system(ETCD),)), lambda _: None) as ready:  # type: ignore[arg-type]
        placement = ready.of(plan).placement
        assert placement.servers == placement.generator == os.sched_getaffinity(process) == allowed


def test_servers_that_a_killed_campaign_left_in_their_place_are_put_back_by_the_next(
    tmp_path: Path, process: int, warmings: list[str]
) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor: nothing to share out")
    folder, servers = folder_of(tmp_path, True, REDIS), Servers(process)
    (plan,) = folder.campaign.runs
    specs = server_sets((system(REDIS),))
    killed = Readiness(folder, servers, specs, lambda _: None)  # type: ignore[arg-type]
    killed.of(plan)
    with readiness(folder, servers, specs, lambda _: None) as ready:  # type: ignore[arg-type]
        ready.of(plan)
    assert os.sched_getaffinity(process) == allowed
