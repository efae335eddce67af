"""Stopping a process for the moment in which its code is changed."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.hazards.clocks.refusal import CannotStep
from bench.servers.breaking.freezing import thread_states
from bench.servers.interruption import uninterrupted

_STOPS_WITHIN_S = 5.0
_STILL = frozenset("TZX")  # proc(5): stopped, or ended and executing nothing any more


@contextmanager
def halted(pid: int) -> Iterator[None]:
    """Stop every thread of a process for the block; a process that was stopped before stays stopped after it.

    Raises ProcessLookupError if it is gone, CannotStep if a thread does not stop.
    """
    if _all_still(pid):
        yield
        return
    with uninterrupted(f"process {pid} is stopped while its clock is changed"):
        process = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(process, signal.SIGSTOP)
            try:
                _until_still(pid)
                yield
            finally:
                signal.pidfd_send_signal(process, signal.SIGCONT)
        finally:
            os.close(process)


def instructions(pid: int) -> Sequence[int]:
    """The address at which each thread of a halted process will go on: the last field of proc(5)'s `syscall`."""
    addresses = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            registers = (task / "syscall").read_text(encoding="ascii").split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that had ended, and is now forgotten too
        if len(registers) < 3:  # "running": somebody has continued it
            raise CannotStep(f"process {pid} did not stay stopped: its clock was not changed")
        addresses.append(int(registers[-1], 16))
    return addresses


def _until_still(pid: int) -> None:
    give_up = time.monotonic() + _STOPS_WITHIN_S
    while not _all_still(pid):
        if time.monotonic() >= give_up:
            raise CannotStep(f"process {pid} did not stop within {_STOPS_WITHIN_S:g} s of SIGSTOP")
        time.sleep(0.0002)  # pace: a thread stops when it is next scheduled; the kernel tells that to its parent only


def _all_still(pid: int) -> bool:
    states = thread_states(pid)
    if not states:
        raise ProcessLookupError(f"process {pid} is gone")
    return states <= _STILL
