"""Messages between the lockbench that serves a live page and the Locust process that is the page.

Locust's process must do nothing but load: what the operations of a second say is computed in the other process. A
message is a header in JSON and a body of bytes, over a pair of sockets that only these two processes have.
"""

import json
import socket
import struct
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.servers.process import readable

FD_VARIABLE = "LOCKBENCH_CONSOLE_FD"  # in the environment of the page's process: its end of the pair
_LENGTHS = struct.Struct("!II")
_PART_BYTES = 1 << 20


class Message(NamedTuple):
    """`body` belongs to `content`, which says how it is made up."""

    kind: str
    content: Mapping[str, Any]
    body: bytes


class Channel:
    """One end. Any thread may send; one thread, or greenlet, receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        # An end that was made under gevent comes to a process without it as gevent left it: it would not wait for the
        # second part of a message.
        end.setblocking(True)
        self._sending = threading.Lock()

    def close(self) -> None:
        """The other process is told no more."""
        self._end.close()

    def send(self, kind: str, content: Mapping[str, Any], body: bytes = b"") -> bool:
        """False where the other process is gone."""
        header = json.dumps([kind, content]).encode()
        try:
            with self._sending:
                self._end.sendall(_LENGTHS.pack(len(header), len(body)) + header + body)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def receive(self) -> Message | None:
        """The next message; None once the other process is gone."""
        lengths = self._exactly(_LENGTHS.size)
        if lengths is None:
            return None
        of_header, of_body = _LENGTHS.unpack(lengths)
        header, body = self._exactly(of_header), self._exactly(of_body)
        if header is None or body is None:
            return None
        kind, content = json.loads(header)
        return Message(kind, content, body)

    def readable(self, within_s: float | None) -> bool:
        """Is there something to receive, or will there be in so many seconds (None: ever)? The other process's end
        counts too."""
        return bool(readable([self._end.fileno()], None if within_s is None else max(0.0, within_s)))

    def _exactly(self, count: int) -> bytes | None:
        found = bytearray()
        while len(found) < count:
            try:
                part = self._end.recv(min(count - len(found), _PART_BYTES))
            except ConnectionResetError:
                return None
            if not part:
                return None
            found += part
        return bytes(found)
