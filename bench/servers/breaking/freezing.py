"""Stopping, resuming and killing a server together with every process below it, each seen to be so.

A server is not always one process: PostgreSQL has one for each session, Redis forks to rewrite its log. A fault that
hits only the first of them is another fault than the one that was meant.
"""

import contextlib
import os
import signal
import time
from pathlib import Path

import psutil

from bench.errors import LockbenchError
from bench.servers.process import ProcessId, ended, family, reap

_LOOK_EVERY_S = 0.001
_DEAD = frozenset("ZX")


class ProcessGone(LockbenchError):
    """The process had ended before anything could be done to it."""


class NotConfirmed(LockbenchError):
    """A process did not stop, go on or end in time (it waits for a disk, say)."""


def freeze(root: ProcessId, within_s: float = 5.0) -> tuple[int, ...]:
    """SIGSTOP a process and all below it; return their pids once every thread of each is in state T of proc(5).

    Raises ProcessGone, or NotConfirmed when a thread does not stop.
    """
    deadline = time.monotonic() + within_s
    while True:
        members = family(root.pid)
        if not root.alive():
            raise ProcessGone(f"process {root.pid} has ended")
        moving = [member for member in members if thread_states(member.pid) - _DEAD - {"T"}]
        # A child born just before its parent stopped is not among `members`: all are stopped once a second look,
        # after the parent's stop, finds nobody new.
        if not moving and family(root.pid) == members:
            return tuple(member.pid for member in members if not thread_states(member.pid) <= _DEAD)
        if time.monotonic() >= deadline:
            raise NotConfirmed(f"process {moving[0].pid if moving else root.pid} did not stop within {within_s:g} s")
        # From the root down. Whoever starts a program by vfork(2) cannot stop before the child has become it, which a
        # child that was stopped first never would.
        pids = {member.pid for member in moving}
        for member in moving:
            if _parent(member) not in pids:
                _tell(member, signal.SIGSTOP)
        time.sleep(_LOOK_EVERY_S)  # pace: between two looks at the kernel's state, bounded by the deadline above


def thaw(root: ProcessId, within_s: float = 5.0) -> tuple[int, ...]:
    """SIGCONT to a process and all below it; return the pids of those that were stopped, when none is any more.

    Raises ProcessGone, or NotConfirmed when one stays stopped.
    """
    deadline = time.monotonic() + within_s
    resumed: dict[int, None] = {}
    while True:
        members = family(root.pid)
        if not root.alive():
            raise ProcessGone(f"process {root.pid} has ended")
        halted = [member for member in members if "T" in thread_states(member.pid)]
        if not halted:
            return tuple(resumed)
        if time.monotonic() >= deadline:
            raise NotConfirmed(f"process {halted[0].pid} stayed stopped for {within_s:g} s")
        for member in halted:
            resumed[member.pid] = None
            _tell(member, signal.SIGCONT)
        time.sleep(_LOOK_EVERY_S)  # pace, as above


def kill(root: ProcessId, within_s: float = 10.0) -> tuple[int, ...]:
    """SIGKILL a process and all below it, so that none acts on another's end; return their pids when all are gone.

    All are frozen first, and the root dies last: whoever is interrupted half-way leaves a tree that is still found by
    its root. Raises ProcessGone, or NotConfirmed.
    """
    deadline = time.monotonic() + within_s
    pids = freeze(root, within_s)
    try:
        watch = os.pidfd_open(root.pid)
    except ProcessLookupError as gone:
        raise ProcessGone(f"process {root.pid} has ended") from gone
    try:
        if not root.alive():  # the pidfd now pins the process; look again before it is sent a signal
            raise ProcessGone(f"process {root.pid} has ended")
        below = family(root.pid)[1:]
        for member in below:
            _tell(member, signal.SIGKILL)
        # Zombies count as gone: their parent is frozen and cannot collect them.
        while [member.pid for member in below if not thread_states(member.pid) <= _DEAD]:
            if time.monotonic() >= deadline:
                raise NotConfirmed(f"a process below {root.pid} did not end within {within_s:g} s of SIGKILL")
            time.sleep(_LOOK_EVERY_S)  # pace, as above: none of them is our child, so nobody tells us
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(watch, signal.SIGKILL)
        if not ended(watch, max(0.0, deadline - time.monotonic())):
            raise NotConfirmed(f"process {root.pid} did not end within {within_s:g} s of SIGKILL")
        return pids
    finally:
        os.close(watch)
        reap(root.pid)


def kill_if_alive(root: ProcessId) -> bool:
    """`kill`, where a process that is gone already is no error. True when it was there."""
    try:
        kill(root)
    except ProcessGone:
        return False
    return True


def is_frozen(root: ProcessId) -> bool:
    """Is any thread of the process, or of one below it, stopped?"""
    return any("T" in thread_states(member.pid) for member in family(root.pid))


def thread_states(pid: int) -> frozenset[str]:
    """The states (R, S, D, T, Z, ...) of a process's threads; empty when there is no such process.

    SIGSTOP reaches a process as a whole, but each of its threads stops by itself, when it next passes the kernel.
    """
    found = set()
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found.add((thread / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0])
    except (FileNotFoundError, ProcessLookupError):
        # The process ended while we looked; or one of its threads did, and the others were not all seen: a thread that
        # was not seen counts as running, and the next look is whole.
        return frozenset(found | {"R"}) if Path(f"/proc/{pid}").exists() else frozenset()
    return frozenset(found)


def _parent(member: psutil.Process) -> int | None:
    try:
        return member.ppid()
    except psutil.NoSuchProcess:
        return None


def _tell(member: psutil.Process, number: signal.Signals) -> None:
    """psutil compares start times first, so that a reused number is never signalled."""
    try:
        member.send_signal(number)
    except psutil.NoSuchProcess:
        return
