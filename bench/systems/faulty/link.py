"""A wire between faulty clients and their store, inside the process, that can fail as a network fails.

The conformance suite puts a real proxy before a real system. `faulty` has no network, so this stands in for it, and the
faults of a client on a bad network can be planted and found like all others.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bench.servers.breaking.proxy import Direction
from bench.systems.clock import Clock

T = TypeVar("T")


class NoReplyError(Exception):
    """The request may have been carried out; no reply came within the client's call timeout."""


class ConnectionCutError(Exception):
    """The connection was closed before the request was sent."""


@dataclass(slots=True)
class Link:
    """The wire's state. One test changes it while clients call through it; each field is written whole."""

    dropping: bool = False  # requests vanish
    swallowing: int = 0  # so many further replies vanish
    severing: bool = False  # and the connection closes when the reply vanishes, so the client knows at once
    delay_ms: int = 0  # each request arrives this late
    cuts: int = 0  # how often all connections have been closed
    silences: int = 0  # how often those open at that time have fallen silent
    heard: Callable[[Direction], None] | None = None  # told of each request, reply and wake-up that passes

    def carry(self, operation: Callable[[], T], clock: Clock, call_timeout_ms: int) -> T:
        """One request and its reply. Raises NoReplyError after `call_timeout_ms` when the reply does not arrive."""
        self.tell(Direction.TO_SERVER)
        if self.dropping:
            clock.sleep(call_timeout_ms / 1000)  # pace: what a client waits before it gives up
            raise NoReplyError
        clock.sleep(min(self.delay_ms, call_timeout_ms) / 1000)  # pace: the wire is this slow
        reply = operation()
        if self.swallowing > 0:
            self.swallowing -= 1
            if not self.severing:
                clock.sleep(call_timeout_ms / 1000)  # pace: what a client waits before it gives up
            raise NoReplyError
        if self.delay_ms > call_timeout_ms:
            raise NoReplyError
        self.tell(Direction.TO_CLIENT)
        return reply

    def tell(self, direction: Direction) -> None:
        """Of something that passes."""
        if self.heard is not None:
            self.heard(direction)


class WakeUp(threading.Event):
    """Set by the store, told over the link: where that loses what comes from the store, the waiter sleeps on."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    def set(self) -> None:
        """Tell the waiter, or lose it."""
        if self._link.swallowing > 0:
            self._link.swallowing -= 1
        else:
            self._link.tell(Direction.TO_CLIENT)
            super().set()


@dataclass(slots=True)
class Gate:
    """Every acquire of all clients of one store passes here, so that the service as a whole can stand still once."""

    mutex: threading.Lock
    passed: int = 0
    connected: int = 0

    def connect(self, more: int) -> None:
        """Count a connection that was opened, or was closed (-1)."""
        with self.mutex:
            self.connected += more

    def enter(self, stall_at: int, stall_ms: int, clock: Clock) -> None:
        """Count one acquire; the `stall_at`-th keeps the gate shut for `stall_ms`, also for those behind it."""
        with self.mutex:
            self.passed += 1
            if self.passed == stall_at:
                clock.sleep(stall_ms / 1000)  # pace: the planted stall


LINKS: dict[str, Link] = {}  # by the endpoint's option "link"
_GATES: dict[tuple[tuple[str, int], ...], Gate] = {}
_GATES_MUTEX = threading.Lock()


def gate_at(addresses: tuple[tuple[str, int], ...]) -> Gate:
    """The one gate of this process before the store at these addresses."""
    with _GATES_MUTEX:
        return _GATES.setdefault(addresses, Gate(threading.Lock()))
