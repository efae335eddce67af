"""The referee: a process that judges every write, one after the other, in one thread. Its order is total.

    python -m bench.hazards.resources.referee_process

Prints the port that it listens on, at 127.0.0.1, and ends when its standard input ends. Each connection carries JSON
lines, a request and its answer:

    {"do": "write", "attempt": Attempt}   -> Judged, with the instant at which it was judged
    {"do": "read", "key": "k"}            -> {"value": 1, "highest": 7}
    {"do": "log", "key": "k"}             -> {"log": [all of each Attempt and of its Judged, in order]}

Nobody can stall it: a client that is stopped in the middle of a line, or that takes no answers, holds up its own
connection alone.
"""

import json
import os
import selectors
import socket
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.hazards.resources.base import Attempt, Judged
from bench.hazards.resources.child import listening
from bench.hazards.resources.ledger import State, entry_of
from bench.hazards.timeline import now_ns

_CHUNK = 65_536


@dataclass(slots=True)
class _Key:
    state: State = field(default_factory=State)
    log: list[dict[str, Any]] = field(default_factory=list)
    verdicts: dict[str, Judged] = field(default_factory=dict)


class Referee:
    """The state of all keys, and the answers to requests."""

    def __init__(self) -> None:
        self._keys: dict[str, _Key] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Raises KeyError, TypeError or ValueError for a request that is none."""
        if request["do"] == "write":
            return asdict(self._write(Attempt.from_tree(request["attempt"])))
        kept = self._keys.get(request["key"], _Key())
        if request["do"] == "read":
            return asdict(kept.state.reading)
        if request["do"] == "log":
            return {"log": kept.log}
        raise ValueError(f"no request {request['do']!r}")

    def _write(self, attempt: Attempt) -> Judged:
        kept = self._keys.setdefault(attempt.key, _Key())
        verdict = kept.verdicts.get(attempt.attempt_id)
        if verdict is None:
            kept.state, verdict = kept.state.judge(attempt)
            verdict = replace(verdict, judged_ns=now_ns())
            kept.verdicts[attempt.attempt_id] = verdict
            kept.log.append(entry_of(attempt, verdict))
        return verdict


@dataclass(slots=True)
class _Connection:
    socket: socket.socket
    heard: bytes = b""
    to_say: bytes = b""


class Server:
    """One thread, all connections, no blocking call but the wait for any of them."""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self._waiting = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self._waiting.register(self._listener, selectors.EVENT_READ)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def serve(self, until_input_ends: int) -> None:
        """Answer until the end of the input with this descriptor."""
        self._waiting.register(until_input_ends, selectors.EVENT_READ)
        while True:
            for ready, events in self._waiting.select():
                if ready.fd == until_input_ends:
                    if not os.read(until_input_ends, _CHUNK):
                        return
                elif ready.fileobj is self._listener:
                    self._accept()
                else:
                    self._turn(ready.data, events)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # it went away again
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._waiting.register(client, selectors.EVENT_READ, _Connection(client))

    def _turn(self, connection: _Connection, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                heard = connection.socket.recv(_CHUNK)
                if not heard:
                    raise ConnectionResetError
                *lines, connection.heard = (connection.heard + heard).split(b"\n")
                for line in lines:
                    connection.to_say += json.dumps(self._referee.answer(json.loads(line))).encode() + b"\n"
            self._say(connection)
        except BlockingIOError:
            return
        except OSError:  # the client ended, or was killed
            self._drop(connection)
        except (KeyError, TypeError, ValueError) as bad:
            print(f"bad request, connection closed: {bad!r}", file=sys.stderr, flush=True)
            self._drop(connection)

    def _say(self, connection: _Connection) -> None:
        """Say what the socket takes; the rest when it takes more."""
        if connection.to_say:
            with suppress(BlockingIOError):
                connection.to_say = connection.to_say[connection.socket.send(connection.to_say) :]
        more = selectors.EVENT_WRITE if connection.to_say else 0
        self._waiting.modify(connection.socket, selectors.EVENT_READ | more, connection)

    def _drop(self, connection: _Connection) -> None:
        self._waiting.unregister(connection.socket)
        connection.socket.close()


if __name__ == "__main__":
    server = Server(Referee())
    listening(server.port)
    server.serve(sys.stdin.fileno())
