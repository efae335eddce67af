"""Who may use a client: one thread or greenlet at a time, in the process that opened it."""

import os

_process = object()


def _begin_child() -> None:
    global _process
    _process = object()


# Asking for the process id at every call would cost 0.2 µs of a lock pair's 13; a fork tells us instead.
os.register_at_fork(after_in_child=_begin_child)


class ClientMisuse(RuntimeError):
    """A client was used where its session is not its own: a mistake of the caller, and never an outcome."""


class SoleUse:
    """Lets no second user in. Nobody waits for it: the second user is told at once.

    Begun by `begin`, and ended by plain assignment in a `finally`. A `with` would not do: a signal's handler may raise
    on entry to any function, `__exit__` included, and after any call into C, a lock's `acquire` included. The client
    would be in the middle of that call for ever.
    """

    __slots__ = ("_process", "under_way")

    def __init__(self) -> None:
        self._process = _process
        self.under_way = False

    def begin(self) -> None:
        """Raises ClientMisuse in a forked child and while another call is under way."""
        if self._process is not _process:
            raise ClientMisuse(
                "this client was opened before a fork, and its session is the parent's: open one in this process"
            )
        if self.under_way:
            raise ClientMisuse(
                "this client is in the middle of another call: open one client for each thread or greenlet"
            )
        self.under_way = True  # nothing was called since the look, so no other thread has run in between
