"""Whatever dies in the middle: finished runs stay, the unfinished one is marked, and no process is left behind."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.records.schema import RunState
from bench.records.store import CampaignFolder, Store
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import system
from tests.commands.command import BRIEFLY, LOCKBENCH, environment_of, lockbench
from tests.processes import ended_within, running_in
from tests.thorough import case

pytestmark = pytest.mark.servers
REGULAR = ("run", "-s", "redis", "-w", "uncontended", "-n", "2", "--name", "c")
RUN = (*REGULAR, *BRIEFLY)


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A `lockbench` in the middle of its work, its message captured."""
    process = subprocess.Popen(
        [*LOCKBENCH, *arguments],
        cwd=folder,
        env=environment_of(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)
        lockbench(folder, "down")
        assert ended_within(folder, 10), running_in(folder)


def until(seen: Callable[[], bool], within_s: float = 60) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + within_s
    while not seen():
        assert time.monotonic() < deadline, "what the test waits for did not happen"
        time.sleep(0.02)  # poll: the event is in another process's files


def campaign_of(folder: Path) -> CampaignFolder:
    return Store(folder / "runs").open(CampaignFolder, "c")


def states(folder: Path) -> list[RunState]:
    return [run.state for run in campaign_of(folder).runs()]


def second_run_loads(folder: Path) -> bool:
    """Is the load of the second run under way?"""
    try:
        return sum(path.stat().st_size > 0 for path in (folder / "runs/c").glob("*/log.txt")) == 2
    except OSError:
        return False


def redis_pid(folder: Path) -> int:
    spec = system("redis").servers
    assert spec is not None
    process = Supervisor(folder / "home").running(spec).nodes[0].process
    assert process is not None
    return process.pid


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), case(signal.SIGTERM, 143, rare=True)])
def test_an_interrupted_campaign(tmp_path: Path, number: int, code: int) -> None:
    with running(tmp_path, *RUN) as process:
        until(lambda: second_run_loads(tmp_path))
        process.send_signal(number)
        said, _ = process.communicate(timeout=30)
        assert process.returncode == code
        assert "interrupted; finished runs are kept" in said
        assert "Traceback" not in said
        assert not running_in(tmp_path)
    assert states(tmp_path) == [RunState.CHECKED, RunState.INTERRUPTED]


def test_an_interruption_while_servers_start(tmp_path: Path) -> None:
    with running(tmp_path, "up", "zookeeper") as process:
        until(lambda: bool(list((tmp_path / "home").rglob("pid"))))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=40)
        assert process.returncode == 130
        assert not running_in(tmp_path)


def test_a_server_killed_in_the_middle_of_a_run(tmp_path: Path) -> None:
    with running(tmp_path, *RUN) as process:
        until(lambda: bool(list((tmp_path / "runs/c").glob("*/log.txt"))))
        os.kill(redis_pid(tmp_path), signal.SIGKILL)
        said, _ = process.communicate(timeout=90)
        assert process.returncode == 1
        assert "1 of 2 runs have no measurement" in " ".join(said.split())
        assert "Traceback" not in said
    assert states(tmp_path) == [RunState.FAILED, RunState.CHECKED]
    first = next(iter(campaign_of(tmp_path).runs()))
    assert "redis at 127.0.0.1" in first.failed.reason.lower()


def test_lockbench_killed_in_the_middle_of_a_run(tmp_path: Path) -> None:
    with running(tmp_path, *RUN) as process:
        until(lambda: second_run_loads(tmp_path))
        server = redis_pid(tmp_path)
        process.kill()
        process.wait(10)
        until(lambda: {one.pid for one in running_in(tmp_path)} == {server}, within_s=20)  # the load ends by itself
        assert "stopped redis" in lockbench(tmp_path, "down").stdout
        assert not running_in(tmp_path)
    assert states(tmp_path) == [RunState.CHECKED, RunState.INTERRUPTED]


def test_up_status_down_of_everything(tmp_path: Path) -> None:
    """1 + 2 + 5 Redis, 3 ZooKeeper, 3 etcd, 1 Postgres, 1 DynamoDB API, each proven by identity; then none of them."""
    try:
        assert lockbench(tmp_path, "up", within_s=120).returncode == 0
        lines = json.loads(lockbench(tmp_path, "status", "--json").stdout)
        nodes = [line["set_name"] for line in lines]
        assert {name: nodes.count(name) for name in nodes} == {
            "redis": 1, "redispair": 2, "redlock": 5, "zookeeper": 3, "etcd": 3, "postgres": 1, "dynamodb": 1,
        }  # fmt: skip
        assert all(line["problem"] is None and line["identity"] and line["pid"] for line in lines)
        assert len({(line["set_name"], line["identity"], line["node"]) for line in lines}) == 16
    finally:
        lockbench(tmp_path, "down", within_s=120)
    assert not running_in(tmp_path)
    assert json.loads(lockbench(tmp_path, "status", "--json").stdout) == []


def test_a_run_prints_its_result(tmp_path: Path) -> None:
    ended = lockbench(tmp_path, *RUN[:-4], "-n", "1", "--name", "c", within_s=120)
    assert ended.returncode == 0, ended.stderr
    rows = [line for line in ended.stdout.splitlines() if line.strip().startswith("Redis")]
    assert len(rows) == 1
    assert re.search(r"\d\.\d+", rows[0]), "its median"
    assert "ZooKeeper" not in ended.stdout, "what was not chosen is not shown"
    assert "1 run in " in ended.stdout
    assert not running_in(tmp_path)
