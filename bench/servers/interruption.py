"""The signals that end lockbench, and letting a clean-up finish although one of them came while it ran."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Ctrl-C, `kill`, and a terminal that was closed.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """A signal ends this process in order. Nobody takes it for a SystemExit of the code that it came in."""


def ending_signals() -> tuple[signal.Signals, ...]:
    """Those that end this process in order.

    A signal that whoever started it had ignored stays ignored: so does a shell with SIGINT for what it puts into the
    background, since Ctrl-C is meant for what is in front, and nohup with SIGHUP. SIGTERM is always heeded.
    """
    return tuple(
        number for number in _ENDING if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN
    )


def tell_at_once(text: str) -> None:
    """A line on standard error, from a signal handler too: it may have interrupted a print that is not done yet."""
    with contextlib.suppress(OSError):  # the terminal may be what has gone
        os.write(2, f"{text}\n".encode())


@contextmanager
def uninterrupted(why: str) -> Iterator[None]:
    """Hold the ending signals back during the block, say why, and let the first of them take effect after it.

    Outside the main thread signals never arrive, so there the block simply runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, _frame: object) -> None:
        if not held:
            tell_at_once(f"{why}: one moment")
        held.append(number)

    before = {number: signal.signal(number, hold) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])
