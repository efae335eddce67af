"""Letting a clean-up finish although someone pressed Ctrl-C (or sent SIGTERM) while it ran."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted(why: str) -> Iterator[None]:
    """Hold SIGINT and SIGTERM back during the block, say why, and let the first of them take effect after it.

    Outside the main thread signals never arrive, so there the block simply runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, _frame: object) -> None:
        if not held:
            print(f"{why}: one moment", file=sys.stderr, flush=True)
        held.append(number)

    before = {number: signal.signal(number, hold) for number in _NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])
