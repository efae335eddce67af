"""What kazoo does not tell of its session, noted where it must pass: at the socket.

A ZooKeeper session ends when the servers have heard nothing from the client for its timeout. So it surely lives until
the *sending* of the newest request that was answered, plus the timeout. kazoo keeps no such instant, reports a cut
cable two thirds of a timeout late, and never reports that the timeout is over while it cannot reconnect. It does let
its users supply the handler that opens its sockets and waits for them: this module is that handler.
"""

import errno
import select
import ssl
import struct
import sys
from collections.abc import Callable
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler

from bench.systems.clock import Clock
from bench.systems.gevent_patches import gevent_patches

_PING = -2  # the request number that the protocol reserves for pings
_CONNECT = 0  # a connect request has none; its first field, the protocol version 0, stands where the number would
_CONNECT_REPLY = struct.Struct("!iiq")  # protocol version, granted timeout in ms (0: no such session), session id
_INT = struct.Struct("!i")
_HEAD_BYTES = 20  # of an answer: length, number, zxid, error
_READ_BYTES = 65_536


class Wire:
    """The handler of one kazoo client, and what it saw. Written by kazoo's connection thread, read by any."""

    def __init__(self, clock: Clock, call_s: float, encrypt: ssl.SSLContext | None = None) -> None:
        self.session_id = 0  # as the server names it; see Session.id for whether it still lives
        self.timeout_ms = 0  # of the session, as granted by the server: not always what was asked
        self.answered_ns = 0  # when the newest answered request was sent
        self.address: tuple[str, int] | None = None  # of the server last connected to
        self.hang_up_ns: int | None = None  # closing: do not wait for a server beyond this instant
        self.failure = ""  # why the last attempt to connect failed; "" when it did not
        self._clock = clock
        self._call_s = call_s
        self._encrypt = encrypt
        self._sent_ns: dict[int, int] = {}  # number of an unanswered request -> when it was sent
        self._last_sent_ns = 0
        self._heard_ns = 0  # when the newest answer came
        self.handler = _kazoo_handler()
        self._dial = self.handler.create_connection
        self.handler.create_connection = self._create_connection
        self.handler.select = self._select
        self._look = _unpatched_poll()

    def _create_connection(self, address: tuple[str, int], hostname: str, timeout: float, **_: Any) -> "_NotingSocket":
        """As kazoo calls it. kazoo's own TLS would believe every authority of the machine beside the one named."""
        self._sent_ns.clear()
        self._heard_ns = self._clock.monotonic_ns()
        self.address = (hostname, address[1])
        try:
            # kazoo would wait a whole session timeout for one server. Half the bound of a call leaves time for another.
            sock = self._dial(address, timeout=min(timeout, self._call_s / 2))
            if self._encrypt is not None:
                sock = self._encrypt.wrap_socket(sock, server_hostname=hostname)
        except OSError as failed:
            self.failure = str(failed)
            raise
        self.failure = ""
        return _NotingSocket(sock, self)

    def _select(self, read: list[Any], write: list[Any], _: list[Any], seconds: float) -> tuple[list[Any], ...]:
        """`select.select` as kazoo calls it, with its waits cut to what the session can bear.

        kazoo takes up to 0.4 s at random off the ping interval, then waits at least as long: a session below a second
        may expire while all is well, and a slow answer to a ping drops the connection. Here a ping is due a third of
        the timeout after the last request, its answer another third later, and the rest is left for another server.
        """
        idle = len(read) == 2  # kazoo's main wait: the server's socket, and the queue of requests
        if idle and read[0].pending():
            return read[:1], [], []
        now_ns = self._clock.monotonic_ns()
        if idle:
            due_ns = self._sent_ns.get(_PING, self._last_sent_ns) + self.timeout_ms * 1_000_000 // 3
            silent_ns = self._silent_ns()
            if now_ns >= silent_ns and not self._poll(read[:1], [], 0.0)[0]:
                raise OSError(errno.ETIMEDOUT, "the server has fallen silent")
            seconds = (min(due_ns, silent_ns) - now_ns) / 1e9
        else:
            seconds = min(seconds, self._call_s / 2)
        if self.hang_up_ns is not None:
            seconds = min(seconds, (self.hang_up_ns - now_ns) / 1e9)
            if seconds <= 0:
                raise OSError(errno.ETIMEDOUT, "closing, and the server does not answer")
        return self._poll(read, write, max(seconds, 0.0))

    def _poll(self, read: list[Any], write: list[Any], seconds: float) -> tuple[list[Any], ...]:
        """One system call, where kazoo's selector costs five and most of its CPU.

        Under gevent the unpatched poll looks first, without waiting: kazoo mostly asks about what is ready already.
        """
        events = self._look and _events(self._look, read, write, 0.0)
        if not events:
            events = _events(select.poll, read, write, seconds * 1e3)
        if any(event & select.POLLNVAL for event in events.values()):
            raise OSError(errno.EBADF, "the connection was closed")
        return (
            [item for item in read if item.fileno() in events],
            [item for item in write if item.fileno() in events],
            [],
        )

    def _silent_ns(self) -> int:
        """The instant from which on a connection without a word is given up, and the session goes on over another.

        kazoo pings only when it has nothing else to send, so a client that goes on asking would never find out. A
        request that waited for two thirds of the session, or for the whole bound of a call, has waited long enough.
        """
        oldest_ns = next(iter(self._sent_ns.values()), None)
        if oldest_ns is None:
            return sys.maxsize
        patience_ns = min(self.timeout_ms * 1_000_000 * 2 // 3, int(self._call_s * 1e9))
        return max(oldest_ns, self._heard_ns) + patience_ns

    def note_sent(self, number: int) -> None:
        self._last_sent_ns = self._sent_ns[number] = self._clock.monotonic_ns()

    def note_answer(self, body: bytes) -> None:
        """An answer proves that a server knew the session when it took the request: no earlier than it was sent."""
        number = _INT.unpack_from(body)[0]
        # Requests are answered in order. kazoo's connection thread would die of a gap; as an error of the socket it
        # makes kazoo reconnect, which shows what became of the unanswered ones.
        if number > 0 and number != next((sent for sent in self._sent_ns if sent != _PING), None):
            raise ConnectionError(errno.EPROTO, f"answer {number} came before an earlier one")
        sent_ns = self._sent_ns.pop(number, None)
        if sent_ns is None:  # a watch event: it answers nothing, and does not prolong the session
            return
        if number == _CONNECT:
            _, timeout_ms, session_id = _CONNECT_REPLY.unpack_from(body)
            if timeout_ms <= 0:  # the session has expired, which kazoo tells its listeners
                return
            self.timeout_ms, self.session_id = timeout_ms, session_id
        self._heard_ns = self._clock.monotonic_ns()
        self.answered_ns = max(self.answered_ns, sent_ns)


class _NotingSocket:
    """The part of a socket that kazoo uses. Tells the wire which request was sent and which was answered.

    A message is a 4-byte length, then a body that begins with the request's number.
    Reads are buffered: `pending` says so to kazoo, as an SSL socket would, and saves two waits for each answer.
    """

    def __init__(self, sock: Any, wire: Wire) -> None:
        self._sock = sock
        self._decrypted: Callable[[], int] = getattr(sock, "pending", lambda: 0)  # TLS has read more than it gave
        self._wire = wire
        self._unsent = 0
        self._received = b""
        self._frame = b""
        self.fileno = sock.fileno
        self.setblocking = sock.setblocking
        self.close = sock.close

    def pending(self) -> int:
        return len(self._received) or self._decrypted()

    def send(self, message: Any) -> int:
        if not self._unsent:
            self._wire.note_sent(_INT.unpack_from(message, 4)[0])
        sent: int = self._sock.send(message)
        self._unsent = len(message) - sent
        return sent

    def recv(self, size: int) -> bytes:
        if not self._received:
            self._received = self._sock.recv(_READ_BYTES)
        chunk, self._received = self._received[:size], self._received[size:]
        self._follow(chunk)
        return chunk

    def _follow(self, chunk: bytes) -> None:
        """Note each answer once, as soon as its header is complete. kazoo never reads across the end of a message."""
        noted = len(self._frame) >= _HEAD_BYTES
        self._frame += chunk
        if not noted and len(self._frame) >= _HEAD_BYTES:
            self._wire.note_answer(self._frame[_INT.size :])
        if len(self._frame) >= _INT.size and len(self._frame) == _INT.size + _INT.unpack_from(self._frame)[0]:
            self._frame = b""


def _events(poll: Any, read: list[Any], write: list[Any], wait_ms: float) -> dict[int, int]:
    poller = poll()
    for item in read:
        poller.register(item.fileno(), select.POLLIN)
    for item in write:
        poller.register(item.fileno(), select.POLLOUT)
    return dict(poller.poll(wait_ms))


def _unpatched_poll() -> Any:
    patches = gevent_patches()
    return patches.get_original("select", "poll") if patches else None


def _kazoo_handler() -> Any:
    if gevent_patches():
        from kazoo.handlers.gevent import SequentialGeventHandler

        return SequentialGeventHandler()
    return SequentialThreadingHandler()
