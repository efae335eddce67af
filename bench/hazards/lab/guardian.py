"""The guardian: a process that outlives the lab only when the lab died without stopping what it had started.

It waits for one of two things: the word `done` on its standard input, or the lab's death. After the death it kills
every server of the lab, stopped ones included, and ends. (Actors need no guardian: the kernel kills them, see
`bench/hazards/actor.py`.)

    python -m bench.hazards.lab.guardian HOME LAB_PID FOLDER
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.errors import LockbenchError
from bench.servers.breaking.killing import kill_all
from bench.servers.process import readable
from bench.servers.running.state import HomeBusy, exclusive
from bench.servers.running.supervisor import Supervisor

# Folders of a home, each with a lock of its name, as <home>/lab.lock: who holds it has what is in the folder.
LAB = "lab"
PEERS = "peers"  # servers that reach each other over delay lines: useless without these
_EVERY = (LAB, PEERS)
_WATCHING = b"watching\n"
_DONE = b"done\n"
_STARTED_WITHIN_S = 20.0
_ENDED_WITHIN_S = 10.0
_LOCK_FREE_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.05


def folder_of(home: Path, name: str = LAB) -> Path:
    """The lab's own home for a Supervisor, under the user's."""
    return home / name


class Guardian:
    """The lab's side: starts the process, and sends it away."""

    def __init__(self, home: Path, name: str = LAB) -> None:
        log_path = folder_of(home, name) / "guardian.txt"
        log_path.parent.mkdir(parents=True, exist_ok=True)
        with log_path.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bench.hazards.lab.guardian", str(home), str(os.getpid()), name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the terminal is for the lab
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._ears = self._process.stdin
        ready = readable([self._process.stdout.fileno()], _STARTED_WITHIN_S)
        if not ready or self._process.stdout.readline() != _WATCHING:
            self._process.kill()
            self._process.wait()
            raise LockbenchError(f"the hazard lab's guardian did not start: see {log_path}")

    def alive(self) -> bool:
        """Is somebody watching?"""
        return self._process.poll() is None

    def dismiss(self) -> None:
        """Everything is stopped: the guardian may go. Waits until it is gone."""
        with contextlib.suppress(BrokenPipeError):
            self._ears.write(_DONE)
            self._ears.close()
        try:
            self._process.wait(_ENDED_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def leave(self) -> None:
        """Something may still run: let the guardian see to it, as soon as the lab's lock is free."""
        with contextlib.suppress(BrokenPipeError):
            self._ears.close()


def kill_strays(home: Path, names: Sequence[str] = _EVERY) -> list[str]:
    """Kill every server that a lab of this home left running; return the nodes' names. Nothing is created.

    Raises HomeBusy while a living lab has them.
    """
    killed = []
    for name in names:
        if folder_of(home, name).exists():
            with exclusive(home, name):
                killed += kill_all(Supervisor(folder_of(home, name)))
    return killed


def main(arguments: list[str]) -> int:
    home, lab_pid, name = Path(arguments[0]), int(arguments[1]), arguments[2]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # what is meant for a group of processes must not open the way to strays
    lab = os.pidfd_open(lab_pid)
    if os.getppid() != lab_pid:
        return 1  # it died before we looked, hence before it started any server
    sys.stdout.buffer.write(_WATCHING)
    sys.stdout.flush()
    if not _dismissed(lab):
        _when_the_lock_is_free(home, name)
    return 0


def _dismissed(lab: int) -> bool:
    """Wait until the lab has closed the pipe or died; did it say that all is done?

    The death is watched too: a child of the lab that was forked without exec would keep the pipe open.
    """
    ears, heard, dead = sys.stdin.fileno(), b"", False
    os.set_blocking(ears, False)
    while True:
        ready = readable([ears] if dead else [ears, lab], 0 if dead else None)
        if ears in ready:
            if not (chunk := os.read(ears, 65_536)):
                break
            heard += chunk
        elif dead:
            break
        dead = dead or lab in ready
    return heard == _DONE


def _when_the_lock_is_free(home: Path, name: str) -> None:
    """The kernel may close a dying lab's pipe before it frees its lock. A lock that stays held belongs to a new lab,
    which has killed all strays before it started its own servers."""
    give_up = time.monotonic() + _LOCK_FREE_WITHIN_S
    while True:
        try:
            kill_strays(home, [name])
        except HomeBusy:
            if time.monotonic() >= give_up:
                return
            time.sleep(_LOOK_EVERY_S)  # poll: flock(2) has no wait with a deadline
        else:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
