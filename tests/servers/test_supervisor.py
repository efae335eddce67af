"""Servers come up proven or not at all, and nothing of ours is ever left running, whatever dies in between."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bench.servers.process import ProcessId
from bench.servers.running.ports import PortTaken, claim_ports, free_ports
from bench.servers.running.readiness import Died, TooLate
from bench.servers.running.settings import ServerSettings, Settings
from bench.servers.running.state import HomeBusy, exclusive
from bench.servers.running.supervisor import NotRunning, ServersError, Supervisor
from bench.servers.spec import Node, NotReady, WrongServer
from tests.processes import running_in
from tests.servers.toy import AbsentServers, SilentServers, StillbornServers, ToyServers

TOY = ToyServers()


@pytest.fixture
def supervisor(tmp_path: Path):
    one = Supervisor(tmp_path)
    yield one
    one.down([TOY])
    assert not running_in(tmp_path)


def test_up_status_down(supervisor: Supervisor) -> None:
    running = supervisor.up([TOY])["redis"]
    assert running.source == "native"
    assert len({state.identity for state in running.nodes}) == 2
    assert [line.problem for line in supervisor.status([TOY])] == [None, None]
    assert supervisor.endpoint(TOY) == running.endpoint
    assert supervisor.down([TOY]) == ["toy-1", "toy-2"]
    assert supervisor.down([TOY]) == []
    with pytest.raises(NotRunning, match="lockbench up redis"):
        supervisor.endpoint(TOY)


def test_up_again_keeps_what_is_up(supervisor: Supervisor) -> None:
    assert supervisor.up([TOY])["redis"].identity == supervisor.up([TOY])["redis"].identity


def test_up_replaces_a_half_dead_set(supervisor: Supervisor) -> None:
    before = supervisor.up([TOY])["redis"]
    process = before.nodes[1].process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitpid(process.pid, 0)
    assert [line.problem is None for line in supervisor.status([TOY])] == [True, False]
    after = supervisor.up([TOY])["redis"]
    assert [line.problem for line in supervisor.status([TOY])] == [None, None]
    assert before.identity != after.identity


def test_a_server_that_dies_says_why(supervisor: Supervisor) -> None:
    with pytest.raises(Died, match="the toy is broken on purpose"):
        supervisor.up([StillbornServers()])
    assert not running_in(supervisor.home)


def test_a_server_that_never_listens_is_stopped(supervisor: Supervisor) -> None:
    with pytest.raises(TooLate, match="toy-1 was not ready in time"):
        supervisor.up([SilentServers()])
    assert not running_in(supervisor.home)


def test_a_server_that_does_not_take_its_settings_is_a_message(supervisor: Supervisor) -> None:
    class Deaf(ToyServers):
        def configure(self, nodes: Sequence[Node], variant: Mapping[str, str]) -> None:
            raise NotReady("toy-1 at 127.0.0.1:1: Timeout reading from socket")

    supervisor.up([TOY])
    with pytest.raises(ServersError, match="Toy could not be brought to its settings: toy-1 at"):
        supervisor.configure(Deaf(), {})


def test_a_missing_server_names_the_command(tmp_path: Path) -> None:
    settings = Settings(servers={"redis": ServerSettings(source="native")})
    with pytest.raises(ServersError, match="sudo apt-get install toy-server"):
        Supervisor(tmp_path, settings).up([AbsentServers()])


def test_wrong_server_behind_a_port(supervisor: Supervisor) -> None:
    supervisor.up([TOY])
    node = supervisor.running(TOY).nodes[0].node
    supervisor.down([TOY])
    with socket.create_server((node.host, node.port)) as stranger:
        stranger.settimeout(5)
        answering = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import socket,sys; s=socket.socket(fileno=0); p,_=s.accept(); p.sendall(b'stranger')",
            ],
            stdin=stranger.fileno(),
        )
        with pytest.raises(WrongServer, match="stranger"):
            TOY.prove(node, 1)
        answering.wait(5)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(PortTaken, match=f"port {port} on 127.0.0.1 is taken"):
            claim_ports([port])
        settings = Settings(servers={"redis": ServerSettings(first_port=port)})
        with pytest.raises(PortTaken, match="Choose another first_port"):
            Supervisor(tmp_path, settings).up([TOY])
    assert not running_in(tmp_path)


def test_free_ports_are_distinct() -> None:
    ports = free_ports(200)
    assert len(set(ports)) == 200


KILLED = """
import os, signal, sys
from pathlib import Path
from bench.servers.running import supervisor
from tests.processes import running_in
from tests.servers.toy import ToyServers
one = supervisor.Supervisor(Path(sys.argv[1]))
if sys.argv[2] == "while starting":
    real, count = supervisor.start, []
    def start(*arguments):
        process = real(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    supervisor.start = start
one.up([ToyServers()])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("moment", "nodes"), [("while starting", 1), ("while running", 2)])
def test_strays_of_a_killed_lockbench_are_found(supervisor: Supervisor, moment: str, nodes: int) -> None:
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", KILLED, str(supervisor.home), moment], cwd=root, timeout=30)
    assert ended.returncode == -signal.SIGKILL
    assert len(running_in(supervisor.home)) == nodes
    assert len(supervisor.down([TOY])) == nodes
    assert not running_in(supervisor.home)


def test_a_process_that_is_not_ours_is_never_touched(supervisor: Supervisor) -> None:
    supervisor.up([TOY])
    state = supervisor.running(TOY).nodes[0]
    ours = state.process
    assert ours is not None
    stranger = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        # The kernel gave "our" pid to someone else: the pid file names a living process with another start time.
        (state.folder / "pid").write_text(f"{stranger.pid} {ours.start_ticks - 1} {ours.boot_id}\n")
        assert supervisor.down([TOY]) == ["toy-2"]
        assert stranger.poll() is None
        assert not ProcessId(stranger.pid, ours.start_ticks, "another boot").alive()
    finally:
        stranger.kill()
        stranger.wait()
        os.kill(ours.pid, signal.SIGKILL)
        os.waitpid(ours.pid, 0)


def test_a_stopped_process_is_ended_too(supervisor: Supervisor) -> None:
    supervisor.up([TOY])
    process = supervisor.running(TOY).nodes[0].process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    started = time.monotonic()
    assert supervisor.down([TOY]) == ["toy-1", "toy-2"]
    assert time.monotonic() - started < 5


def test_two_at_once_are_told_apart(supervisor: Supervisor) -> None:
    with exclusive(supervisor.home, "supervisor"), pytest.raises(HomeBusy, match="another lockbench"):
        supervisor.up([TOY])
