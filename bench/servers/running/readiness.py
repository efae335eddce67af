"""Waiting for servers: ask until the answer is there, the process has died, or the deadline has passed."""

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from bench.errors import LockbenchError
from bench.servers.process import last_lines
from bench.servers.running.ports import lets_in
from bench.servers.spec import NotReady

_Answer = TypeVar("_Answer")
_ASK_EVERY_S = 0.05


class Died(LockbenchError):
    """The server process ended before it was ready."""


class TooLate(LockbenchError):
    """The server did not become ready within its deadline."""


def until_ready(
    ask: Callable[[], _Answer],
    deadline: float,
    name: str,
    process: "subprocess.Popen[bytes] | None" = None,
    log_path: Path | None = None,
) -> _Answer:
    """Call `ask` until it stops raising NotReady. `deadline` is on time.monotonic.

    Raises Died when `process` ends first and TooLate at the deadline, with the end of the server's log. WrongServer,
    like everything else, passes through: it would not get better.
    """
    while True:
        try:
            return ask()
        except NotReady as not_yet:
            if process is not None and _ended_within(process, _ASK_EVERY_S):
                status = process.returncode
                raise Died(f"{name} ended with status {status} before it was ready{_said(log_path)}") from not_yet
            if time.monotonic() >= deadline:
                raise TooLate(f"{name} was not ready in time: {not_yet}{_said(log_path)}") from not_yet
            if process is None:
                threading.Event().wait(_ASK_EVERY_S)  # poll: a foreign server has no event to wait for


def listens(address: tuple[str, int]) -> None:
    """Raises NotReady unless somebody does."""
    if not lets_in(*address):
        raise NotReady(f"nobody listens at {address[0]}:{address[1]}")


def _said(log_path: Path | None) -> str:
    return "" if log_path is None else f"\n{last_lines(log_path)}"


def _ended_within(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
