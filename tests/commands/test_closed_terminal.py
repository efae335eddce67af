"""A terminal that is closed (its window, an ssh connection) ends each command as Ctrl-C does: no server stays up."""

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.records.schema import RunState
from bench.records.store import CampaignFolder, Store
from bench.servers.running.ports import free_ports
from tests.commands.command import BRIEFLY, LOCKBENCH, environment_of, lockbench
from tests.processes import default_in_children, ended_within, running_in
from tests.thorough import case

pytestmark = pytest.mark.servers
# A session of its own, with the terminal at its standard input as the one that controls it.
_ON_THE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def at_a_terminal(folder: Path, *arguments: str) -> Iterator["tuple[subprocess.Popen[bytes], Callable[[], None]]"]:
    """A command at a terminal, and what closes the terminal."""
    ours, its = pty.openpty()
    open_ends = [ours]

    def close() -> None:
        if open_ends:
            os.close(open_ends.pop())

    with default_in_children(signal.SIGHUP):
        process = subprocess.Popen(
            [sys.executable, "-c", _ON_THE_TERMINAL, *LOCKBENCH, *arguments],
            cwd=folder,
            env={**environment_of(folder), "TERM": "xterm"},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        )
    os.close(its)
    try:
        yield process, close
    finally:
        close()
        if process.poll() is None:
            process.kill()
        process.wait(30)
        lockbench(folder, "down")
        assert ended_within(folder, 10), running_in(folder)


def servers_up(folder: Path) -> bool:
    return bool(list((folder / "home").rglob("pid")))


def load_runs(folder: Path) -> bool:
    return any("locust" in " ".join(one.info["cmdline"] or []) for one in running_in(folder))


def lab_plays(folder: Path) -> bool:
    return any("bench.hazards.actor" in " ".join(one.info["cmdline"] or []) for one in running_in(folder))


COMMANDS = {
    "up": (["up", "zookeeper"], servers_up),
    "run": (["run", *BRIEFLY, "-s", "redis", "-w", "uncontended", "-n", "2", "--name", "c"], load_runs),
    "live": (["live", "--port", str(free_ports(1)[0])], servers_up),
    "hazard run": (["hazard", "run", "gc-pause", "-s", "redis", "--name", "h"], lab_plays),
    "calibrate": (["calibrate", "--pairs", "1"], servers_up),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_left(tmp_path: Path, name: str) -> None:
    arguments, under_way = COMMANDS[name]
    with at_a_terminal(tmp_path, *arguments) as (process, close):
        deadline = time.monotonic() + 90
        while not under_way(tmp_path):
            assert process.poll() is None, "it ended by itself"
            assert time.monotonic() < deadline, "it did not get to its work"
            time.sleep(0.05)  # poll: the event is in other processes
        close()
        assert process.wait(60) == 128 + signal.SIGHUP
        assert not [one.info["cmdline"] for one in running_in(tmp_path)]
    if name == "run":
        states = [run.state for run in Store(tmp_path / "runs").open(CampaignFolder, "c").runs()]
        assert set(states) <= {RunState.CHECKED, RunState.INTERRUPTED}


@pytest.mark.parametrize("number", [case(signal.SIGTERM, rare=True), signal.SIGHUP])
def test_what_ends_it_in_the_background(tmp_path: Path, number: signal.Signals) -> None:
    """There SIGINT is ignored from the start, and stays so; the others work, and the command says which."""
    with default_in_children(signal.SIGHUP):
        process = subprocess.Popen(
            ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *LOCKBENCH, *COMMANDS["run"][0]],
            cwd=tmp_path,
            env=environment_of(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        deadline = time.monotonic() + 60
        while not servers_up(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.05)  # poll: the event is in other processes
        process.send_signal(signal.SIGINT)
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 128 + number
        assert f"`kill {process.pid}` ends it in order" in " ".join(said.split())
        assert "Traceback" not in said
        assert not running_in(tmp_path)
    finally:
        process.kill()
        process.wait(30)
        lockbench(tmp_path, "down")


def test_nohup_outlives_the_terminal(tmp_path: Path) -> None:
    """SIGHUP that is ignored from the start is somebody's wish: the campaign goes on to its end."""
    process = subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *LOCKBENCH, *COMMANDS["run"][0][:-4], "-n", "1", "--name", "c"],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not servers_up(tmp_path):
            assert time.monotonic() < deadline
            time.sleep(0.05)  # poll: the event is in other processes
        process.send_signal(signal.SIGHUP)
        said, _ = process.communicate(timeout=90)
        assert process.returncode == 0, said
    finally:
        process.kill()
        process.wait(30)
        lockbench(tmp_path, "down")
