"""How a command is ended from outside: by Ctrl-C, by `kill`, by the end of its terminal."""

import os
import signal
import threading
from types import FrameType

from bench.commands.terminal import ERR
from bench.servers.interruption import Ended, ending_signals, tell_at_once

_NUDGE = signal.SIGURG  # ignored unless somebody asks for it, and nobody here does
_NUDGE_AGAIN_S = 0.05


def end_in_order() -> None:
    """From now on a signal that ends this process runs every `finally` first: servers are stopped, and the unfinished
    run stays marked."""
    for number in ending_signals():
        signal.signal(number, _ended)
    _wake_the_main_thread()


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


def _wake_the_main_thread() -> None:
    """On a signal, wherever the main thread waits.

    The kernel may hand a signal of the process to any of its threads, on a busy machine it does, and Python runs the
    handler in the main thread, the next time that this runs at all: one that waits for another thread waits on. What
    the kernel did is told by a byte in a pipe; then a signal to the main thread itself ends its system call.
    """
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    heard = threading.Event()
    signal.signal(_NUDGE, lambda _number, _frame: heard.set())
    signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
    threading.Thread(target=_nudge, args=(reads, heard), name="signals", daemon=True).start()


def _nudge(reads: int, heard: threading.Event) -> None:
    main = threading.main_thread().ident
    assert main is not None, "it runs"
    while numbers := os.read(reads, 64):
        if all(number == _NUDGE for number in numbers):
            continue
        heard.clear()
        signal.pthread_kill(main, _NUDGE)
        while not heard.wait(_NUDGE_AGAIN_S):  # it may have come just before the main thread began to wait
            signal.pthread_kill(main, _NUDGE)
