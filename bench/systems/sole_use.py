"""Who may use a client: one thread or greenlet at a time, in the process that opened it."""

import os
import threading

_process = object()


def _begin_child() -> None:
    global _process
    _process = object()


# Asking for the process id at every call would cost 0.2 µs of a lock pair's 13; a fork tells us instead.
os.register_at_fork(after_in_child=_begin_child)


class ClientMisuse(RuntimeError):
    """A client was used where its session is not its own: a mistake of the caller, and never an outcome."""


class SoleUse:
    """A context in which no second user is let in. Nobody waits for it: the second user is told at once."""

    __slots__ = ("_process", "_taken")

    def __init__(self) -> None:
        self._process = _process
        self._taken = threading.Lock()

    def __enter__(self) -> None:
        if self._process is not _process:
            raise ClientMisuse(
                "this client was opened before a fork, and its session is the parent's: open one in this process"
            )
        if not self._taken.acquire(blocking=False):
            raise ClientMisuse(
                "this client is in the middle of another call: open one client for each thread or greenlet"
            )

    def __exit__(self, *_: object) -> None:
        self._taken.release()
