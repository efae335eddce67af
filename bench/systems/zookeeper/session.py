"""One ZooKeeper session: opened, kept alive by kazoo, asked, and ended within bounds."""

import atexit
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kazoo.client import CLOSED_STATES, KazooClient
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, KazooException
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

from bench.servers.endpoint import Endpoint
from bench.servers.tls import client_context
from bench.systems.base import ClientOptions
from bench.systems.zookeeper.link import credentials, root_of
from bench.systems.zookeeper.wire import Wire

TICK_MS = 200  # half of the shortest session that our servers grant; sessions expire on multiples of it

# kazoo warns of each lost connection. Our refusals say it too, so it is printed only where somebody set logging up.
logging.getLogger("kazoo").addHandler(logging.NullHandler())

# Servers 3.6.0 to 3.8.0, Debian 12's among them, can miss the wake-up for a transaction that is on disk already and
# keep its answer until their next request (ZOOKEEPER-4537): with one client, until its next ping. So a harmless read
# follows an answer that is this late, again after twice the pause, and so on. A prompt answer costs nothing more.
_LATE_S = 0.1


class NoAnswer(KazooException):  # type: ignore[misc]  # kazoo has no type hints
    """The connection stands and the server did not answer in `call_timeout_ms`; it may still do what was asked."""


class _Client(KazooClient):  # type: ignore[misc]
    """kazoo's client, without its bare `except` around the sending of a request."""

    def _call(self, request: Any, answer: Any) -> Any:
        """That `except` takes what a signal handler raises, or Ctrl-C, for the end of the connection."""
        if self._state in CLOSED_STATES:
            return super()._call(request, answer)
        self._queue.append((request, answer))
        try:
            self._connection._write_sock.send(b"\0")
        except (AttributeError, OSError):
            answer.set_exception(ConnectionClosedError("closed meanwhile"))
        except BaseException:
            # Once too often is no harm; a request for which the connection was not woken would wait for the next one.
            self._connection._write_sock.send(b"\0")
            raise
        return None


class Session:
    """The session of one lock client, over all its connections. Requests may come from any thread or greenlet."""

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self.endpoint = endpoint
        self.root = root_of(endpoint)
        self.encrypt = client_context(endpoint)
        self._clock = options.clock
        self._call_s = options.call_timeout_ms / 1e3
        self._pauses_s = _pauses(_LATE_S, self._call_s)
        self._wire = Wire(options.clock, self._call_s, self.encrypt)
        self._ended = True
        self._closed = False
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in endpoint.addresses)
        pause = self._wire.handler.sleep_func
        self.kazoo = _Client(
            hosts,
            options.ttl_ms / 1e3,
            handler=self._wire.handler,
            **credentials(endpoint),
            # A session outlives its connections: kazoo reconnects until the session is over or closed. The pauses stay
            # short against a session of a second. Requests are never repeated by kazoo; `ask` says which are, by us.
            connection_retry=KazooRetry(max_tries=-1, delay=0.02, max_delay=0.25, sleep_func=pause),
            command_retry=KazooRetry(max_tries=1, sleep_func=pause),
        )
        self._connected = self._wire.handler.event_object()
        self.kazoo.add_listener(self._state_changed)

    @property
    def id(self) -> int | None:
        """The number of the living session; None when the servers or we have ended it."""
        return None if self._ended else self._wire.session_id

    @property
    def timeout_ms(self) -> int:
        """As granted by the server."""
        return self._wire.timeout_ms

    @property
    def sure_until_ns(self) -> int:
        """The instant, on the client's monotonic clock, until which the servers cannot have ended the session."""
        return self._wire.answered_ns + self._wire.timeout_ms * 1_000_000

    @property
    def address(self) -> tuple[str, int]:
        """The server in use, or the first of all before there was one."""
        return self._wire.address or self.endpoint.addresses[0]

    def open(self) -> None:
        """Raises ConnectionError when no server gives a session within `call_timeout_ms`."""
        self.kazoo.start_async().wait(self._call_s)
        if not self.kazoo.connected:
            self.close()
            why = f": {self._wire.failure}" if self._wire.failure else ""
            raise ConnectionError(f"no ZooKeeper server at {self.endpoint} gave a session in {self._call_s:g} s{why}")

    def close(self) -> None:
        """End the session; where no server answers within `call_timeout_ms`, hang up and leave it to expire.

        Ends within two `call_timeout_ms`. kazoo waits without a bound for threads of its own, and one of them stands
        for ever where an exception out of a signal's handler struck between the locking of an answer and its `with`.
        """
        self._closed = True
        self._wire.hang_up_ns = self._clock.monotonic_ns() + int(self._call_s * 1e9)
        handler = self.kazoo.handler
        handler.spawn(self._end).join(2 * self._call_s)
        atexit.unregister(handler.stop)  # which would wait for the same threads, when the program ends

    def _end(self) -> None:
        # What can fail is kazoo's wait for its own connection thread, and there is nobody left to notify.
        with suppress(KazooException, OSError):
            self.kazoo.stop()
            self.kazoo.close()

    def wait_connected(self, seconds: float) -> bool:
        """Wait until a server serves this session, or a new one after it expired, or until `seconds` are over."""
        # Cleared before the look and set by the listener after the change: no connection in between is missed.
        self._connected.clear()
        if not (self.kazoo.connected or self._closed):
            self._connected.wait(max(seconds, 0.0))
        return bool(self.kazoo.connected)

    def answer(self, request: Any) -> Any:
        """The answer to a request under way. Raises KazooException: NoAnswer, ConnectionLoss, what the server says."""
        for pause_s in self._pauses_s:
            request.wait(pause_s)
            if request.ready():
                return request.get()
            if self.kazoo.connected:
                self.kazoo.exists_async("/")
        raise NoAnswer(f"no answer in {self._call_s:g} s")

    def bound_of_a_call(self) -> Callable[[], bool]:
        """Of a call that begins now: is its time over?"""
        end_ns = self._clock.monotonic_ns() + int(self._call_s * 1e9)
        return lambda: self._clock.monotonic_ns() >= end_ns

    def ask(self, send: Callable[[], Any], patience_s: float | None = None) -> Any:
        """The answer to a request that does no harm when the server gets it twice.

        It is sent again after a lost connection is back, for `patience_s` (default: the bound of a call). That is how a
        client lives through the loss of one server, which its session survives.
        """
        end_ns = self._clock.monotonic_ns() + int((self._call_s if patience_s is None else patience_s) * 1e9)
        while True:
            left_s = (end_ns - self._clock.monotonic_ns()) / 1e9
            if not self.wait_connected(left_s):
                raise ConnectionLoss("not connected")
            try:
                return self.answer(send())
            except ConnectionLoss:
                if left_s <= 0:
                    raise

    def _state_changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._ended = False
            self._connected.set()
        elif state == KazooState.LOST:
            self._ended = True


def _pauses(first_s: float, total_s: float) -> tuple[float, ...]:
    """Pauses that double, and last `total_s` together."""
    if first_s >= total_s:
        return (total_s,)
    return (first_s, *_pauses(2 * first_s, total_s - first_s))
