"""However a lab ends, nothing of it runs afterwards: ended in order, by an error, by Ctrl-C, by SIGKILL."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bench.errors import LockbenchError
from bench.hazards.lab.guardian import kill_strays
from bench.hazards.lab.lab import Lab, open_lab
from bench.hazards.lab.servers import LabClosed, LabServers
from bench.servers.running.readiness import Died
from bench.servers.running.state import HomeBusy
from bench.systems.postgres_row.server import PostgresServers
from bench.systems.redis.server import RedisServers
from tests.commands.command import lockbench
from tests.processes import ended_within, running_in
from tests.servers.toy import StillbornServers
from tests.thorough import case

pytestmark = pytest.mark.servers
ROOT = Path(__file__).parents[3]
REDIS = RedisServers()

# Opens a lab, stops what it has, and waits.
CHILD = """
import sys, time
from pathlib import Path
from bench.hazards.lab.lab import open_lab
from bench.systems.postgres_row.server import PostgresServers
from bench.systems.redis.server import RedisServers
home = Path(sys.argv[1])
with open_lab(home, [RedisServers(), PostgresServers()]) as lab:
    lab.servers("redis").replicate()
    lab.servers("redis").pause("redis")
    lab.servers("postgres").pause("postgres")
    print(lab.servers("postgres").state("postgres").folder, flush=True)
    time.sleep(600)
"""


class Child:
    """A lockbench with a lab, in a process of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(home)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.folders = (home / "lab", Path(self.process.stdout.readline().strip()))
        assert self.folders[1].is_dir(), "the lab did not come up"

    def guardian(self) -> psutil.Process:
        (found,) = [one for one in running_in(self.home) if "bench.hazards.lab.guardian" in one.cmdline()]
        return found

    def servers(self) -> list[psutil.Process]:
        return [one for folder in self.folders for one in running_in(folder)]

    def all_gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        return all(ended_within(folder, deadline - time.monotonic()) for folder in (self.home, *self.folders))

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    one = Child(tmp_path / "home")
    yield one
    one.end()
    assert one.all_gone_within(20.0), "strays are left; see the test above"


def test_up_and_down_leaves_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    with open_lab(tmp_path, [REDIS], said.append) as lab:
        servers = lab.servers("redis")
        assert len(running_in(tmp_path)) == 2, "a server and the guardian"
        assert lab.broken() == []
    assert said == ["starting Redis (native)", "waiting for Redis"]
    assert not running_in(tmp_path)
    with pytest.raises(LabClosed):
        servers.start("redis")


def test_an_error_inside_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no servers 'etcd'"), open_lab(tmp_path, [REDIS]) as lab:
        _pause_all(lab, ["redis", "etcd"])
    assert not running_in(tmp_path)


def test_a_server_that_does_not_come_up_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Died, match="broken on purpose"), open_lab(tmp_path, [StillbornServers()]):
        pass
    assert not running_in(tmp_path)


def test_one_lab_at_a_time_and_down_leaves_it_alone(tmp_path: Path) -> None:
    with open_lab(tmp_path / "home", [REDIS]) as lab:
        with pytest.raises(HomeBusy, match="another lockbench holds"), open_lab(tmp_path / "home", [REDIS]):
            pass
        done = lockbench(tmp_path, "down")
        assert done.returncode == 0, done.stderr
        assert "a hazard lab is at work" in done.stderr
        assert lab.broken() == []


@pytest.mark.parametrize("number", [signal.SIGINT, case(signal.SIGTERM, rare=True)])
def test_ctrl_c_leaves_nothing(child: Child, number: signal.Signals) -> None:
    child.process.send_signal(number)
    child.process.wait(30)
    assert child.all_gone_within(15.0)


def test_the_guardian_ends_what_a_killed_lab_left(child: Child) -> None:
    left = child.servers()
    assert {one.status() for one in left if one.name().startswith("postgres")} == {psutil.STATUS_STOPPED}
    killed = time.monotonic()
    child.process.kill()
    child.process.wait()
    assert child.all_gone_within(15.0)
    assert time.monotonic() - killed < 15.0
    assert not [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize("by", [case("down", rare=True), "the next lab"])
def test_strays_are_found_when_the_guardian_was_killed_too(child: Child, by: str) -> None:
    child.guardian().kill()
    child.process.kill()
    child.process.wait()
    assert child.servers()
    if by == "down":
        done = lockbench(child.home.parent, "down")
        assert "stopped" in done.stdout, done.stderr
        for name in ("postgres", "redis-replica"):
            assert name in done.stdout
    else:
        with open_lab(child.home, [REDIS]):
            assert not running_in(child.folders[1]), "PostgreSQL is a stray of before"
    # The actor is nobody's server: only the guardian, or the actor itself, could end it.
    for stray in running_in(child.home):
        stray.kill()


def test_nothing_is_made_where_there_never_was_a_lab(tmp_path: Path) -> None:
    assert kill_strays(tmp_path / "home") == []
    assert not (tmp_path / "home").exists()


class ImpatientRedis(RedisServers):
    """Whoever waits for a server that the closing has killed waits this long."""

    ready_within_s = 5.0


class ImpatientPostgres(PostgresServers):
    """The same."""

    ready_within_s = 5.0


def test_a_fault_under_way_starts_nothing_behind_the_closing(tmp_path: Path) -> None:
    for _ in range(2):
        ended: list[BaseException] = []
        with open_lab(tmp_path, [ImpatientRedis(), ImpatientPostgres()]) as lab:
            threads = [
                threading.Thread(target=_break_for_ever, args=(lab.servers(name), ended))
                for name in ("redis", "postgres")
            ]
            for thread in threads:
                thread.start()
            threads[0].join(0.4)
            folders = [tmp_path, lab.servers("postgres").state("postgres").folder.parent]
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert len(ended) == 2
        assert not [one for folder in folders for one in running_in(folder)]


def _pause_all(lab: Lab, names: list[str]) -> None:
    for name in names:
        lab.servers(name).pause(name)


def _break_for_ever(servers: LabServers, ended: list[BaseException]) -> None:
    (node,) = servers.node_names
    step: Callable[[str], object]
    try:
        while True:
            for step in (servers.pause, servers.kill, servers.start):
                step(node)
    except (
        LockbenchError,
        ValueError,
    ) as end:  # closed; or its server was killed, or its records removed, by the closing
        ended.append(end)


def test_the_guardian_outlives_signals_meant_for_a_group(tmp_path: Path) -> None:
    with open_lab(tmp_path, [REDIS]) as lab:
        (guardian,) = [one for one in running_in(tmp_path) if "bench.hazards.lab.guardian" in one.cmdline()]
        assert os.getsid(guardian.pid) == guardian.pid
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            guardian.send_signal(number)
        assert lab.broken() == []
        guardian.kill()
        guardian_gone = time.monotonic() + 10
        while not (found := lab.broken()) and time.monotonic() < guardian_gone:
            continue
        assert found == ["the lab's guardian has ended"]
    assert not running_in(tmp_path)
