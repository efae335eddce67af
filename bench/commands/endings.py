"""How a command is ended from outside: by Ctrl-C, by `kill`, by the end of its terminal."""

import os
import signal
from types import FrameType

from bench.commands.terminal import ERR
from bench.servers.interruption import Ended, ending_signals, tell_at_once


def end_in_order() -> None:
    """From now on a signal that ends this process runs every `finally` first: servers are stopped, and the unfinished
    run stays marked."""
    for number in ending_signals():
        signal.signal(number, _ended)


def say_how_to_end() -> None:
    """For commands that take their time: where Ctrl-C does not reach this process, say what does."""
    if signal.SIGINT not in ending_signals():
        ERR.print(
            f"Ctrl-C does not reach this, as it was started in the background: `kill {os.getpid()}` ends it in order",
            highlight=False,
        )


def _ended(number: int, _frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        signal.signal(number, signal.SIG_IGN)  # the shell and the kernel both tell of a closed terminal
    tell_at_once("interrupted; finished runs are kept")
    raise Ended(128 + number)
