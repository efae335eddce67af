"""Carries connections over delay lines: one thread, one epoll, one timer for all that is held.

A line is a loopback port of its own before one server's address. What comes from either side is held for its
direction's delay and then goes on, in its order; what is not delayed goes on at once. Bytes are never lost: a reset
is an end of both sides.
"""

import errno
import select
import socket
import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from bench.servers.network.counts import Ledger
from bench.servers.network.delay import Delay
from bench.servers.network.flow import BACKLOG_BYTES_MAX, End, Flow, Link
from bench.servers.network.timer import Timer

Address = tuple[str, int]
_CHUNK_BYTES = 16_384
_BACKLOG = 1_024  # connections that wait to be accepted
_monotonic_ns = time.monotonic_ns  # of the module: looked up for every message


class Carrier:
    """Lines before some addresses. `run` carries until `stop`; both, and all else, in one thread."""

    def __init__(self, targets: Sequence[Address], delay: Delay, at: Sequence[Address] = ()) -> None:
        """`at` is where each line listens; without it, each has some free port of 127.0.0.1."""
        self.delay = delay
        self.ledger = Ledger()
        self.echo: Address | None = None  # where new connections go instead of to their servers
        self._held: list[tuple[int, int, Flow | Link, bytes | End]] = []  # a heap: due, in which order, whose, what
        self._number = 0
        self._running = True
        self._epoll = select.epoll()
        self._timer = Timer()
        self._armed_ns = 0
        self._acts: dict[int, Callable[[int], None]] = {}
        self._watched: dict[int, int] = {}
        self._links: set[Link] = set()
        at = at or [("127.0.0.1", 0)] * len(targets)
        self._listeners = [socket.create_server(one, backlog=_BACKLOG) for one in at]
        self.places: list[Address] = [one.getsockname() for one in self._listeners]
        for listener, target in zip(self._listeners, targets, strict=True):
            listener.setblocking(False)
            self.watch(listener.fileno(), lambda _, listener=listener, to=target: self._accept(listener, to))  # type: ignore[misc]
        self.watch(self._timer.fileno(), lambda _: None)  # what is due goes on after each event

    def watch(self, descriptor: int, act: Callable[[int], None]) -> None:
        """Call `act` with the events when there is something to read."""
        self._acts[descriptor] = act
        self._listen(descriptor, select.EPOLLIN)

    def become(self, jitter_us: float, reset_after_s: float, seed: int) -> None:
        """Be another network from now on, also for the connections that there are."""
        self.delay.become(jitter_us, reset_after_s, seed)
        for link in self._links:
            self._live(link)

    def stop(self) -> None:
        """`run` ends after what it does now."""
        self._running = False

    def run(self) -> None:
        """Carry. Whatever ends it, the connections end with it."""
        poll, acts = self._epoll.poll, self._acts
        while self._running:
            for descriptor, events in poll():
                act = acts.get(descriptor)
                if act is not None:  # None: an earlier event of this round closed it
                    act(events)
            if self._held:
                self._release()
            due_ns = self._held[0][0] if self._held else 0
            if due_ns != self._armed_ns:
                self._timer.set(due_ns)
                self._armed_ns = due_ns

    def _accept(self, listener: socket.socket, target: Address) -> None:
        try:
            client, _ = listener.accept()
        except OSError as refused:
            if refused.errno in (errno.EMFILE, errno.ENFILE):
                raise
            return  # the client gave up between the event and the call
        to = self.echo or target
        server = socket.socket(socket.AF_INET6 if ":" in to[0] else socket.AF_INET, socket.SOCK_STREAM)
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.connect_ex(to)  # a refusal shows at the first read, and is passed on as a reset
        link = Link(client, server)
        for flow in link.flows:
            self.watch(flow.source.fileno(), lambda events, flow=flow: self._on(flow, events))  # type: ignore[misc]
        self._links.add(link)
        if not self.echo:
            self._live(link)

    def _live(self, link: Link) -> None:
        """As long as is drawn now, whatever was drawn before."""
        life_ns = self.delay.life_ns()
        link.ends_by = 0
        if life_ns is not None:
            self._hold(_monotonic_ns() + life_ns, link, End.RESET)
            link.ends_by = self._number

    def _on(self, flow: Flow, events: int) -> None:
        """The socket that a flow reads has something, has room, or has ended."""
        link = flow.link
        if events & select.EPOLLOUT:
            opposite = link.flows[1] if flow.onward else link.flows[0]
            self._do(opposite, opposite.go_on)
        if not (link.closed or flow.ended) and events & ~select.EPOLLOUT:
            self._read(flow)
        self._look_after(link)

    def _read(self, flow: Flow) -> None:
        try:
            item: bytes | End = flow.source.recv(_CHUNK_BYTES) or End.FIN
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            item = End.RESET
        if isinstance(item, bytes):
            flow.held_bytes += len(item)
            self.ledger.came(flow.onward, len(item))
        else:
            flow.ended = True
        self._pass(flow, item)

    def _pass(self, flow: Flow, item: bytes | End) -> None:
        """On, when its time has come: at once where nothing is held."""
        now_ns = _monotonic_ns()
        due_ns = self.delay.due_ns(now_ns, flow.onward, flow.latest_ns)
        if due_ns <= now_ns and not flow.pending:
            self.ledger.messages += 1
            self._do(flow, lambda: flow.write(item))
            return
        flow.latest_ns = due_ns
        flow.pending += 1
        self._hold(due_ns, flow, item)

    def _hold(self, due_ns: int, whose: Flow | Link, item: bytes | End) -> None:
        self._number += 1
        heappush(self._held, (due_ns, self._number, whose, item))

    def _release(self) -> None:
        """Everything that is due by now, also what becomes due meanwhile."""
        held, ledger = self._held, self.ledger
        now_ns = _monotonic_ns()
        while held and held[0][0] <= now_ns:
            due_ns, number, whose, item = heappop(held)
            if isinstance(whose, Link):
                if whose.ends_by == number:
                    self._close(whose, reset=True)
            elif not whose.link.closed:
                whose.pending -= 1
                ledger.messages += 1
                ledger.late(now_ns - due_ns)
                self._do(whose, lambda flow=whose, item=item: flow.write(item))  # type: ignore[misc]
                self._look_after(whose.link)
            now_ns = _monotonic_ns()

    def _do(self, flow: Flow, write: Callable[[], End | None]) -> None:
        try:
            end = write()
        except OSError:
            # The sink is gone, and what it sent before must still arrive: a reset follows it, as late as all else.
            flow.give_up()
            opposite = flow.link.flows[1] if flow.onward else flow.link.flows[0]
            if opposite.finished:  # nothing is left that could follow
                self._close(flow.link, reset=True)
            else:
                opposite.ended = True
                self._pass(opposite, End.RESET)
            return
        if end is End.RESET:
            self._close(flow.link, reset=True)
        elif flow.finished and all(one.finished for one in flow.link.flows):
            self._close(flow.link, reset=False)

    def _look_after(self, link: Link) -> None:
        """Read from a source while it has more and there is room for it; wait for room where a sink had none."""
        if link.closed:
            return
        for flow, opposite in (link.flows, link.flows[::-1]):
            reads = not flow.ended and flow.held_bytes < BACKLOG_BYTES_MAX
            events = select.EPOLLIN * reads | select.EPOLLOUT * opposite.blocked
            self._listen(flow.source.fileno(), events)

    def _listen(self, descriptor: int, events: int) -> None:
        before = self._watched.get(descriptor, 0)
        if events == before:
            return
        if not before:
            self._epoll.register(descriptor, events)
        elif events:
            self._epoll.modify(descriptor, events)
        else:  # not even its end: the kernel would tell of that again and again
            self._epoll.unregister(descriptor)
        self._watched[descriptor] = events

    def _close(self, link: Link, reset: bool) -> None:
        if link.closed:
            return
        for end in (link.client, link.server):
            descriptor = end.fileno()
            self._listen(descriptor, 0)
            del self._watched[descriptor], self._acts[descriptor]
        self._links.discard(link)
        link.close(reset)
