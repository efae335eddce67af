"""A TCP proxy that misbehaves on request: late, silent, cut or deaf, between one client side and one server.

It exists because kernel `netem` is missing on many machines, and because a fault must hit one connection of one client,
not the whole loopback. One thread runs all connections of a proxy; every fault is carried out by that thread, so a call
returns only when the fault is in force.

What TCP promises is kept: bytes stay in order, and bytes held back by a fault are delivered after `restore`, as resent
packets would be. The exceptions are `swallow_reply`, `lose_replies` and `silence`, which lose bytes on purpose, and
`sever` and `hang_up`, which end connections.

`drop` is silence above TCP: the kernel still acknowledges what arrives, so that no end's keepalive notices anything.
`unplug` is silence below it: a socket filter that passes nothing (BPF, socket(7) SO_ATTACH_FILTER; it needs no
privilege) throws every arriving packet away before TCP sees it, as a pulled cable does.
"""

import ctypes
import fcntl
import ipaddress
import selectors
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag
from typing import Self

CHUNK_BYTES = 65_536
BACKLOG_BYTES_MAX = 4_194_304  # held bytes of one direction of one connection; then the sender feels back pressure
CONTROL_TIMEOUT_S = 10.0
_LINGER_RESET = struct.pack("ii", 1, 0)  # closing with a linger of zero sends a reset instead of a FIN
_SO_ATTACH_FILTER, _SO_DETACH_FILTER = 26, 27  # asm-generic/socket.h; Python's socket module has no names for them
# struct sock_fprog with one struct sock_filter, BPF_RET | BPF_K 0: of every packet, keep no byte.
_KEEP_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_FILTER = struct.pack("HL", 1, ctypes.addressof(_KEEP_NOTHING))
_SIOCOUTQ = 0x5411  # tcp(7): bytes sent, and not acknowledged yet
_ACKNOWLEDGED_WITHIN_S = 1.0
_LOOK_EVERY_S = 0.001


class Direction(Flag):
    """Which half of the traffic a fault concerns."""

    TO_SERVER = 1
    TO_CLIENT = 2
    BOTH = 3


class _End(Flag):
    """How a stream of bytes ended, queued behind its last byte."""

    FIN = 1
    RESET = 2


class _Pipe:
    """One direction of one connection: bytes read from `source`, due at an instant, written to `sink` in order."""

    def __init__(self, source: socket.socket, sink: socket.socket, direction: Direction) -> None:
        self.source = source
        self.sink = sink
        self.direction = direction
        self.queue: deque[tuple[float, bytes | _End]] = deque()
        self.queued_bytes = 0
        self.source_ended = False  # nothing more is read
        self.finished = False  # nothing more is written
        self.blocked = False  # the sink took less than was due
        self.held = False  # nothing more is written until `restore`

    def read(self) -> bytes | _End | None:
        """Take what the source has; None: nothing yet. The caller decides whether it is queued."""
        try:
            chunk = self.source.recv(CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            self.source_ended = True
            return _End.RESET
        if not chunk:
            self.source_ended = True
            return _End.FIN
        return chunk

    def put(self, item: bytes | _End, delay_s: float) -> None:
        # Never earlier than what is queued before it: a shorter delay must not let bytes overtake.
        due = time.monotonic() + delay_s
        if self.queue:
            due = max(due, self.queue[-1][0])
        self.queue.append((due, item))
        self.queued_bytes += len(item) if isinstance(item, bytes) else 0

    def gives(self, now: float) -> bool:
        """Are bytes due?"""
        return bool(self.queue) and self.queue[0][0] <= now and isinstance(self.queue[0][1], bytes)

    def flush(self, now: float) -> bool:
        """Write what is due; True when a reset of the connection is due now. Raises OSError when the sink is gone."""
        self.blocked = False
        while self.queue and self.queue[0][0] <= now:
            due, item = self.queue[0]
            if item is _End.RESET:
                return True
            if isinstance(item, _End):
                self.queue.clear()
                self.finished = True
                self.sink.shutdown(socket.SHUT_WR)
                return False
            try:
                sent = self.sink.send(item)
            except (BlockingIOError, InterruptedError):
                sent = 0
            self.queued_bytes -= sent
            if sent < len(item):
                self.queue[0] = (due, item[sent:])
                self.blocked = True
                return False
            self.queue.popleft()
        return False

    def give_up(self) -> None:
        """The sink is gone: read and write no more."""
        self.queue.clear()
        self.source_ended = self.finished = True
        self.blocked = False


class _Link:
    """One proxied connection: two sockets, two pipes."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.deaf = False  # nothing that the server sends reaches the client any more
        self.silent = False  # nothing reaches either end any more
        self.pipes = (
            _Pipe(client, server, Direction.TO_SERVER),
            _Pipe(server, client, Direction.TO_CLIENT),
        )

    def close(self, reset: bool) -> None:
        for end in (self.client, self.server):
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
            end.close()


class Shots:
    """How many connections may yet be struck, shared by proxies."""

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"count is {count}: strike at least one connection")
        self._left = count
        self._turn = threading.Lock()
        self.fired = 0

    def take(self) -> bool:
        """Use one up; False when there is none."""
        with self._turn:
            if self._left == 0:
                return False
            self._left -= 1
            self.fired += 1
            return True


@dataclass(frozen=True, slots=True)
class _Loss:
    """Whose replies are lost: those on a connection over which `marker` goes to the server."""

    marker: bytes
    shots: Shots
    then_sever: bool


class FaultProxy:
    """A TCP proxy to one loopback server, listening on a free loopback port. A context manager.

    Faults concern every connection, those open now and those to come, until `restore`. While a direction is dropped, a
    new connection is accepted and then hears nothing (a real network would leave it connecting).
    Raises ValueError for a target that is not a loopback address.
    """

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = _loopback(target)
        self._delay_s = {Direction.TO_SERVER: 0.0, Direction.TO_CLIENT: 0.0}
        self._dropped = Direction(0)
        self._to_swallow = 0
        self._sever_after_swallow = False
        self._loss: _Loss | None = None
        self._unplugged = False
        self._swallowed = threading.Semaphore(0)
        self._hold: tuple[bytes, Shots] | None = None
        self._heard: Callable[[Direction], None] | None = None
        self._pieces_held = {one: threading.Semaphore(0) for one in (Direction.TO_SERVER, Direction.TO_CLIENT)}
        self._links: dict[socket.socket, _Link] = {}  # by either of its sockets
        self._commands: deque[tuple[Callable[[], None], threading.Event]] = deque()
        self._running = True
        self._selector = selectors.DefaultSelector()
        self._bell, self._wake = socket.socketpair()
        self._bell.setblocking(False)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self.address: tuple[str, int] = self._listener.getsockname()
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name=f"fault-proxy-{self.address[1]}", daemon=True)
        self._thread.start()

    def delay(self, delay_ms: float, direction: Direction = Direction.BOTH) -> None:
        """Hold every byte that arrives from now on for `delay_ms`; BOTH adds twice that to a round trip."""
        if delay_ms < 0:
            raise ValueError(f"delay_ms is {delay_ms}: it cannot be negative")
        self._order(lambda: self._set_delay(delay_ms / 1000.0, direction))

    def drop(self, direction: Direction = Direction.BOTH) -> None:
        """Forward nothing and tell nobody, as a pulled cable: no FIN, no reset. `restore` delivers what was held."""
        self._order(lambda: self._set_dropped(direction))

    def unplug(self) -> None:
        """Pull the cable: no packet of either end arrives, none is acknowledged, and no connection can be made.

        What was on its way is delivered first: the kernel would send it again and again past the filter, and each time
        show the other end a sign of life. Both ends resend and probe into nothing from then on, so their keepalives and
        their limits of unacknowledged time work as on a real network. `restore` plugs the cable in again; what the ends
        resend then arrives. Raises OSError where the kernel has no socket filters.
        """
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _FILTER)
        self._order(self._unplug)

    def sever(self) -> None:
        """Reset every open connection on both sides, losing what was held back. New connections are served."""
        self._order(self._sever)

    def hang_up(self) -> None:
        """End every open connection properly on both sides (FIN), as a server does with one that was idle for long."""
        self._order(self._hang_up)

    def silence(self) -> None:
        """Carry nothing more over the connections that are open now, and tell nobody: a firewall forgot them. New ones
        are served. What is on the way is lost, so `restore` resets those that still stand."""
        self._order(self._silence)

    def redirect(self, target: tuple[str, int]) -> None:
        """Reset every open connection and send new ones to another server: an address that moves, as that of a service
        does in a failover. Raises ValueError for a target that is not a loopback address."""
        to = _loopback(target)
        self._order(lambda: self._redirect(to))

    def swallow_reply(self, count: int = 1, *, then_sever: bool = False) -> None:
        """Lose the next `count` pieces that the server sends, over all connections; the commands have run.

        A piece is what one read returns: one reply, where replies are small and asked for one by one. `then_sever`
        resets the connection that lost the last piece.
        """
        if count < 1:
            raise ValueError(f"count is {count}: swallow at least one reply")
        self._order(lambda: self._set_swallow(count, then_sever))

    def lose_replies(self, marker: bytes, shots: Shots, *, then_sever: bool = False) -> None:
        """Lose the reply to the next request that has `marker` in it, and all that follows it on its connection.

        A stream has no gap: a connection that has lost a reply is deaf for good, and is reset by `restore`. With
        `then_sever` it is reset as soon as the server has answered. Each connection struck uses up one of `shots`. The
        marker is looked for in each piece that one read returns, so a request must be sent whole.
        """
        loss = _Loss(marker, shots, then_sever)
        self._order(lambda: self._set_loss(loss))

    def hold_requests(self, marker: bytes, shots: Shots) -> None:
        """Keep back the next request that has `marker` in it, and what follows it on its connection, until `restore`.

        Other connections are served, new ones too. Each connection held uses up one of `shots`. What a client has sent
        arrives in the end, also when it has given up and closed its end meanwhile.
        """
        self._order(lambda: self._set_hold(marker, shots))

    def wait_swallowed(self, timeout_s: float) -> bool:
        """Wait until one more reply was swallowed; False when none was within `timeout_s`."""
        return self._swallowed.acquire(timeout=timeout_s)

    def wait_reply_held(self, timeout_s: float) -> bool:
        """Wait until one more reply came from the server that `drop` keeps back; False when none did in `timeout_s`."""
        return self._pieces_held[Direction.TO_CLIENT].acquire(timeout=timeout_s)

    def wait_request_held(self, timeout_s: float) -> bool:
        """The same for what came from a client, kept back by `drop` or `hold_requests`."""
        return self._pieces_held[Direction.TO_SERVER].acquire(timeout=timeout_s)

    def overhear(self, heard: Callable[[Direction], None]) -> None:
        """Call `heard` for each piece that a client has sent, and before one is given to it: what a client does upon a
        piece is always heard after it. Not a fault, so `restore` does not end it."""
        self._order(lambda: self._set_heard(heard))

    def restore(self) -> None:
        """End every fault. Held bytes are on their way, in order, when this returns; a connection that lost replies is
        reset."""
        self._order(self._restore)

    def close(self) -> None:
        """Close every connection and stop the thread. Idempotent."""
        if self._thread.is_alive():
            self._order(self._stop)
            self._thread.join(CONTROL_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Everything below runs in the proxy's own thread, except `_order`.

    def _order(self, command: Callable[[], None]) -> None:
        done = threading.Event()
        self._commands.append((command, done))
        try:
            self._wake.send(b"!")
        except OSError as failure:
            # The thread has ended; perhaps with this very command, a `close` that it saw before the bell rang.
            self._thread.join(CONTROL_TIMEOUT_S)
            if not done.is_set():
                raise RuntimeError("the fault proxy is closed") from failure
        if not done.wait(CONTROL_TIMEOUT_S):
            raise RuntimeError(f"the fault proxy did not answer within {CONTROL_TIMEOUT_S:g} s")

    def _set_delay(self, delay_s: float, direction: Direction) -> None:
        for one in self._delay_s:
            if one in direction:
                self._delay_s[one] = delay_s

    def _set_dropped(self, direction: Direction) -> None:
        self._forget_held()
        self._dropped |= direction

    def _set_hold(self, marker: bytes, shots: Shots) -> None:
        self._forget_held()
        self._hold = marker, shots

    def _forget_held(self) -> None:
        """What an earlier fault kept back is not counted."""
        self._pieces_held = {direction: threading.Semaphore(0) for direction in self._pieces_held}

    def _unplug(self) -> None:
        self._set_dropped(Direction.BOTH)  # what was read before, and is not sent yet, stays here
        give_up = time.monotonic() + _ACKNOWLEDGED_WITHIN_S
        while any(_unacknowledged_bytes(end) for end in self._links) and time.monotonic() < give_up:
            time.sleep(_LOOK_EVERY_S)  # poll: the kernel tells nobody of an acknowledgement
        self._unplugged = True
        for end in (self._listener, *self._links):
            end.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _FILTER)

    def _plug_in(self) -> None:
        self._unplugged = False
        for end in (self._listener, *self._links):
            end.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)

    def _set_loss(self, loss: _Loss) -> None:
        self._loss = loss

    def _set_heard(self, heard: Callable[[Direction], None]) -> None:
        self._heard = heard

    def _set_swallow(self, count: int, then_sever: bool) -> None:
        self._to_swallow = count
        self._sever_after_swallow = then_sever

    def _restore(self) -> None:
        self._set_delay(0.0, Direction.BOTH)
        self._dropped = Direction(0)
        self._to_swallow = 0
        self._loss = None
        self._hold = None
        if self._unplugged:
            self._plug_in()
        now = time.monotonic()
        for link in self._open_links():
            if link.deaf or link.silent:
                self._close(link, reset=True)
                continue
            for pipe in link.pipes:
                pipe.held = False
                pipe.queue = deque((min(due, now), item) for due, item in pipe.queue)
            self._flush(link)

    def _redirect(self, target: tuple[str, int]) -> None:
        self.target = target
        self._sever()

    def _sever(self) -> None:
        for link in self._open_links():
            self._close(link, reset=True)

    def _hang_up(self) -> None:
        for link in self._open_links():
            self._close(link, reset=False)

    def _silence(self) -> None:
        for link in self._open_links():
            link.silent = True
            for end in (link.client, link.server):
                if end in self._selector.get_map():
                    self._selector.unregister(end)

    def _stop(self) -> None:
        self._running = False

    def _run(self) -> None:
        try:
            while self._running:
                for key, _ in self._selector.select(self._next_due_s()):
                    self._serve(key.fileobj)  # type: ignore[arg-type]
                self._obey()
                for link in self._open_links():
                    if not link.silent:
                        self._flush(link)
        finally:
            for link in self._open_links():
                self._close(link, reset=False)
            for end in (self._listener, self._bell, self._wake):
                end.close()
            self._selector.close()
            self._obey()

    def _obey(self) -> None:
        while self._commands:
            command, done = self._commands.popleft()
            command()
            done.set()

    def _serve(self, ready: socket.socket) -> None:
        if ready is self._bell:
            self._bell.recv(CHUNK_BYTES)
        elif ready is self._listener:
            self._accept()
        elif ready in self._links:
            self._read(self._links[ready], ready)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # the client gave up between the event and the call
            return
        server = socket.socket(socket.AF_INET6 if ":" in self.target[0] else socket.AF_INET, socket.SOCK_STREAM)
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._unplugged:  # the client had got through just before
                end.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _FILTER)
        # A refusal shows at the first read of the server's socket and is passed to the client as a reset.
        server.connect_ex(self.target)
        link = _Link(client, server)
        for end in (client, server):
            self._links[end] = link
            self._selector.register(end, selectors.EVENT_READ)

    def _read(self, link: _Link, ready: socket.socket) -> None:
        for pipe in link.pipes:
            if pipe.source is not ready or pipe.source_ended:
                continue
            item = pipe.read()
            if item is None:
                continue
            if self._heard and isinstance(item, bytes) and pipe.direction is Direction.TO_SERVER:
                self._heard(pipe.direction)
            if isinstance(item, bytes) and pipe.direction is Direction.TO_CLIENT and self._to_swallow:
                self._to_swallow -= 1
                if not self._to_swallow and self._sever_after_swallow:
                    self._close(link, reset=True)
                self._swallowed.release()
                return
            if isinstance(item, bytes) and self._is_lost(link, pipe.direction, item):
                return
            if isinstance(item, bytes) and self._hold is not None and pipe.direction is Direction.TO_SERVER:
                marker, shots = self._hold
                pipe.held = pipe.held or (marker in item and shots.take())
            pipe.put(item, self._delay_s[pipe.direction])
            if isinstance(item, bytes) and (pipe.held or pipe.direction in self._dropped):
                self._pieces_held[pipe.direction].release()

    def _is_lost(self, link: _Link, direction: Direction, piece: bytes) -> bool:
        """Does the client never hear of this piece? A request with the marker makes its connection deaf."""
        loss = self._loss
        if direction is Direction.TO_SERVER:
            if loss is not None and not link.deaf and loss.marker in piece:
                link.deaf = loss.shots.take()
            return False
        if link.deaf:
            self._swallowed.release()
            if loss is not None and loss.then_sever:
                self._close(link, reset=True)
        return link.deaf

    def _flush(self, link: _Link) -> None:
        now = time.monotonic()
        for pipe, opposite in (link.pipes, link.pipes[::-1]):
            if pipe.direction in self._dropped or pipe.held or pipe.finished:
                pipe.blocked = False
                continue
            if self._heard and pipe.direction is Direction.TO_CLIENT and pipe.gives(now):
                self._heard(pipe.direction)
            try:
                reset_due = pipe.flush(now)
            except OSError:
                # This end is gone, but what it sent before must still arrive late at the other: a command outlives the
                # client that gave up on it. So the reset queues behind those bytes.
                pipe.give_up()
                if not opposite.finished:
                    opposite.source_ended = True
                    opposite.put(_End.RESET, 0.0)
                continue
            if reset_due:
                self._close(link, reset=True)
                return
        if all(pipe.finished for pipe in link.pipes):
            self._close(link, reset=False)
            return
        for pipe in link.pipes:
            self._listen_for(pipe, link)

    def _listen_for(self, pipe: _Pipe, link: _Link) -> None:
        """Watch a pipe's source for bytes and, while the opposite pipe is blocked on it, for room."""
        wants_bytes = not pipe.source_ended and pipe.queued_bytes < BACKLOG_BYTES_MAX
        wants_room = any(other.sink is pipe.source and other.blocked for other in link.pipes)
        events = selectors.EVENT_READ * wants_bytes | selectors.EVENT_WRITE * wants_room
        registered = self._selector.get_map().get(pipe.source)
        if registered is None and events:
            self._selector.register(pipe.source, events)
        elif registered is not None and not events:
            self._selector.unregister(pipe.source)
        elif registered is not None and registered.events != events:
            self._selector.modify(pipe.source, events)

    def _next_due_s(self) -> float | None:
        due = [
            pipe.queue[0][0]
            for link in self._open_links()
            for pipe in link.pipes
            if pipe.queue and not (pipe.blocked or pipe.held or link.silent or pipe.direction in self._dropped)
        ]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _open_links(self) -> list[_Link]:
        return list(dict.fromkeys(self._links.values()))

    def _close(self, link: _Link, reset: bool) -> None:
        for end in (link.client, link.server):
            if end in self._selector.get_map():
                self._selector.unregister(end)
            self._links.pop(end, None)
        link.close(reset)


def _unacknowledged_bytes(end: socket.socket) -> int:
    return int(struct.unpack("i", fcntl.ioctl(end, _SIOCOUTQ, struct.pack("i", 0)))[0])


def _loopback(target: tuple[str, int]) -> tuple[str, int]:
    host = "127.0.0.1" if target[0] == "localhost" else target[0]
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise ValueError(f"a fault proxy reaches loopback addresses only, not {target[0]!r}")
    return host, target[1]
