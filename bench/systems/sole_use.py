"""Who may use a client: one thread or greenlet at a time, in the process that opened it."""

import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

this_process = object()


def _begin_child() -> None:
    global this_process
    this_process = object()


# Asking for the process id at every call would cost 0.2 µs of a lock pair's 13; a fork tells us instead.
os.register_at_fork(after_in_child=_begin_child)


class ClientMisuse(RuntimeError):
    """A client was used where its session is not its own: a mistake of the caller, and never an outcome."""


class SoleUse:
    """Lets no second user in. Nobody waits for it: the second user is refused at once.

    Looked at, begun and ended by plain reads and assignments. A call in between would not do, nor a `with`: other
    threads run, and a signal's handler may raise, on entry to a function and after a call into C. Two users would be
    let in, or the client would be in the middle of a call for ever.
    """

    __slots__ = ("process", "under_way")

    def __init__(self) -> None:
        self.process = this_process
        self.under_way = False

    def refusal(self) -> ClientMisuse:
        """What to raise in a forked child, and while another call is under way."""
        if self.process is not this_process:
            return ClientMisuse(
                "this client was opened before a fork, and its session is the parent's: open one in this process"
            )
        return ClientMisuse("this client is in the middle of another call: open one client for each thread or greenlet")

    def alone(self, call: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
        """Make one call as the sole user. Raises ClientMisuse."""
        if self.under_way or self.process is not this_process:
            raise self.refusal()
        self.under_way = True
        try:
            return call(*args, **more)
        finally:
            self.under_way = False
