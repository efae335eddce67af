"""Nodes started again by the supervisor that started them, and a home whose every server is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers.breaking.killing import kill_all
from bench.servers.process import ProcessId
from bench.servers.running.state import StateFile
from bench.servers.running.supervisor import ServersError, Supervisor
from tests.processes import running_in
from tests.servers.toy import ToyServers

TOY = ToyServers()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    one = Supervisor(tmp_path)
    one.up([TOY])
    yield one
    kill_all(one)
    assert not running_in(tmp_path)


def kill(supervisor: Supervisor, index: int) -> None:
    process = supervisor.running(TOY).nodes[index].process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)


def test_a_node_starts_again_as_it_was_and_is_recorded(supervisor: Supervisor) -> None:
    before = supervisor.running(TOY)
    kill(supervisor, 1)
    starting = supervisor.launch_again(TOY, ["toy-2"])
    (proven,) = supervisor.prove_again(starting, time.monotonic() + 10)
    after = supervisor.running(TOY)
    assert after.endpoint == before.endpoint
    assert after.nodes[0] == before.nodes[0]
    assert after.nodes[1] == proven
    assert proven.identity.startswith(f"{starting.processes[0].pid} ")
    assert proven.identity != before.nodes[1].identity
    assert [line.problem for line in supervisor.status([TOY])] == [None, None]


def test_only_what_ended_and_was_started_here_starts_again(supervisor: Supervisor) -> None:
    with pytest.raises(ServersError, match="toy-1 still runs"):
        supervisor.launch_again(TOY, ["toy-1"])
    kill(supervisor, 0)
    with pytest.raises(ServersError, match="toy-1 was not started here"):
        Supervisor(supervisor.home).launch_again(TOY, ["toy-1"])


def test_every_server_of_a_home_is_killed_and_no_other(supervisor: Supervisor) -> None:
    state = supervisor.running(TOY).nodes[0]
    ours = state.process
    assert ours is not None
    os.kill(ours.pid, signal.SIGSTOP)
    stranger = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        known = ProcessId.of(stranger.pid)
        assert known is not None
        foreign = supervisor.home / "servers" / "another" / "node" / "pid"
        foreign.parent.mkdir(parents=True)
        foreign.write_text(f"{known.pid} {known.start_ticks + 1} {known.boot_id}\n")
        assert kill_all(Supervisor(supervisor.home)) == ["toy-2", "toy-1"]
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    assert not running_in(supervisor.home)
    assert StateFile(supervisor.home, TOY.name).read() is None
    assert not list(supervisor.home.rglob("pid"))
    assert kill_all(supervisor) == []
