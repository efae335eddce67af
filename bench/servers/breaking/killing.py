"""Killing all that a home's supervisor has running, for homes whose servers' data nobody will want."""

import contextlib
import shutil
from pathlib import Path

from bench.servers.breaking.freezing import kill_if_alive
from bench.servers.interruption import uninterrupted
from bench.servers.process import ProcessId
from bench.servers.running.state import exclusive
from bench.servers.running.supervisor import Supervisor


def kill_all(supervisor: Supervisor) -> list[str]:
    """Kill every native server of this home, of whatever set, with all its processes; return the nodes' names.

    Stopped processes and strays of a killed lockbench are found.
    """
    home, outside = supervisor.home, supervisor.outside
    killed: list[str] = []

    def kill_one(pid_file: Path) -> None:
        process = ProcessId.read(pid_file)
        if process is not None and kill_if_alive(process):
            killed.append(pid_file.parent.name)
        pid_file.unlink(missing_ok=True)

    with exclusive(home, "supervisor"), uninterrupted("stopping servers"), contextlib.ExitStack() as each:
        each.callback(shutil.rmtree, outside, ignore_errors=True)
        for state_file in sorted((home / "servers").glob("*/state.json")):
            each.callback(state_file.unlink)
        for folder in (home / "servers", outside):
            for pid_file in sorted(folder.glob("*/*/pid")):
                each.callback(kill_one, pid_file)  # the stack tries every one, also when one raises
    return killed
