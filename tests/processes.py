"""Starting processes with the signals that a terminal would give them, and finding what a test left running."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil


@contextmanager
def default_in_children(*numbers: signal.Signals) -> Iterator[None]:
    """What is started in the block has the default action for these signals, also where this process ignores them.

    execve(2) passes on what is ignored, and resets what is handled: so it is handled here, by doing nothing.
    """
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def running_in(folder: Path) -> list[psutil.Process]:
    """Every living process, other than this one, that works in `folder` or names it on its command line.

    Both are asked: Redis and Postgres write titles of their own over their command lines.
    """
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        words = " ".join([process.info["cwd"] or "", *(process.info["cmdline"] or [])])
        if str(folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
            found.append(process)
    return found


def words_of(process: psutil.Process) -> str:
    """The command line of a process; nothing of one that has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def status_of(process: psutil.Process) -> str:
    """As psutil names it; dead once it is gone."""
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)


def ended_within(folder: Path, seconds: float) -> bool:
    """Do all processes of `folder` end by themselves in time?"""
    deadline = time.monotonic() + seconds
    while alive := running_in(folder):
        _, alive = psutil.wait_procs(alive, timeout=max(0.0, deadline - time.monotonic()))
        if alive:
            return False
    return True
