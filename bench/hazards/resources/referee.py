"""The default resource: a process of ours, judging in tens of microseconds. Atomic because it has a single thread."""

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceHost,
    ResourceUnreachable,
)
from bench.hazards.resources.child import child_process
from bench.hazards.resources.ledger import verdict_of


class Referee(Resource):
    """One TCP connection to the referee's process; a broken one is replaced by the next call."""

    kind: ClassVar[str] = "referee"

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(place["port"])
        try:
            opened._connected()
        except OSError as failed:
            raise ResourceUnreachable(f"no referee at port {opened._port}: {failed}") from failed
        return opened

    def read(self, key: str) -> Reading:
        return Reading(**self._ask({"do": "read", "key": key}))

    def write(self, attempt: Attempt) -> Judged:
        return verdict_of(self._ask({"do": "write", "attempt": attempt.to_tree()}))

    def judged(self, key: str) -> Sequence[Judged]:
        return [verdict_of(entry) for entry in self._ask({"do": "log", "key": key})["log"]]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), ANSWER_WITHIN_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _ask(self, request: Mapping[str, Any]) -> Any:
        """Send once, and wait for the answer. After a failure the connection is given up, for its answer may yet come
        and must not be taken for that of the next request."""
        answered = False
        try:
            connection = self._connected()
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = bytearray()
            while not answer.endswith(b"\n"):
                # The limit is for each piece, and the kernel looks for bytes once more before it says that time is up:
                # a client that was itself stopped still finds an answer that came meanwhile.
                heard = connection.recv(65_536)
                if not heard:
                    raise ConnectionResetError("the referee closed the connection")
                answer += heard
            answered = True
        except OSError as failed:
            raise ResourceUnreachable(f"referee: {failed}") from failed
        finally:
            if not answered:
                self.close()
        return json.loads(answer)


class RefereeHost(ResourceHost):
    """Starts the process and ends it; it also ends by itself with the stage's process."""

    resource: ClassVar[type[Resource]] = Referee

    @contextmanager
    def hosted(self) -> Iterator[Place]:
        with child_process("bench.hazards.resources.referee_process") as port:
            yield {"port": port}
