"""One direction of one connection through a line: what it still has to write, and how it ended."""

import socket
import struct
from collections import deque
from enum import Enum, auto

BACKLOG_BYTES_MAX = 4_194_304  # held for one direction of one connection; then its sender feels back pressure
LINGER_RESET = struct.pack("ii", 1, 0)  # closing with a linger of zero sends a reset instead of a FIN


class End(Enum):
    """How a stream ended; it stands behind its last byte."""

    FIN = auto()
    RESET = auto()


class Flow:
    """Bytes from `source` to `sink`, in their order. What is held is counted here, and written when it is due."""

    __slots__ = (
        "backlog",
        "ended",
        "finished",
        "held_bytes",
        "latest_ns",
        "link",
        "onward",
        "pending",
        "sink",
        "source",
    )

    def __init__(self, link: "Link", source: socket.socket, sink: socket.socket, onward: bool) -> None:
        self.link = link
        self.source = source
        self.sink = sink
        self.onward = onward  # from client to server
        self.backlog: deque[bytes | End] = deque()  # due, and the sink has no room
        self.held_bytes = 0
        self.pending = 0  # messages that are held until they are due
        self.latest_ns = 0  # when the last of what is held is due: nothing may overtake it
        self.ended = False  # the source has no more
        self.finished = False  # the sink gets no more

    def write(self, item: bytes | End) -> End | None:
        """Write what is due now; RESET: so should both ends be. Raises OSError where the sink is gone."""
        if self.finished:
            return None
        if self.backlog:
            self.backlog.append(item)
            return None
        return self._write(item)

    def go_on(self) -> End | None:
        """The sink has room again."""
        while self.backlog:
            item = self.backlog.popleft()
            left = len(self.backlog)
            if (end := self._write(item)) is not None:
                return end
            if len(self.backlog) > left:  # no room again
                break
        return None

    @property
    def blocked(self) -> bool:
        """Does it wait for room?"""
        return bool(self.backlog)

    def give_up(self) -> None:
        """The sink is gone: read and write no more."""
        self.backlog.clear()
        self.held_bytes = 0
        self.ended = self.finished = True

    def _write(self, item: bytes | End) -> End | None:
        if item is End.RESET:
            return End.RESET
        if isinstance(item, End):
            self.finished = True
            self.sink.shutdown(socket.SHUT_WR)
            return None
        try:
            sent = self.sink.send(item)
        except (BlockingIOError, InterruptedError):
            sent = 0
        self.held_bytes -= sent
        if sent < len(item):
            self.backlog.appendleft(item[sent:])
        return None


class Link:
    """One connection through a line: two sockets, two flows."""

    __slots__ = ("client", "closed", "ends_by", "flows", "server")

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.ends_by = 0  # the number of what is held to reset it; what has another number is of a network of before
        self.flows = (Flow(self, client, server, onward=True), Flow(self, server, client, onward=False))
        self.closed = False

    def close(self, reset: bool) -> None:
        """End both sides."""
        self.closed = True
        for end in (self.client, self.server):
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
            end.close()
