"""Every way in which the bench connects with servers of the user's, and a listener that hears what they begin with."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.registry import PROBES, SYSTEMS, System

CALL_TIMEOUT_MS = 500
ENDED_WITHIN_MS = 20_000
# PostgreSQL's clients ask whether TLS may follow; the answer S means yes, N means no.
SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
LOCKS = {entry.folder.rpartition(".")[2]: entry for entry in reversed(tuple(SYSTEMS.values())) if entry.servers_path}
CLIENTS = {**LOCKS, **PROBES}


class Listener:
    """Records the bytes of every connection made to it, answers N to all of them, and never speaks TLS."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.heard: list[bytearray] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            heard = bytearray()
            self.heard.append(heard)
            threading.Thread(target=self._listen, args=(connection, heard), daemon=True).start()

    def _listen(self, connection: socket.socket, heard: bytearray) -> None:
        with connection:
            connection.settimeout(ENDED_WITHIN_MS / 1000)
            try:
                while chunk := connection.recv(65_536):
                    heard += chunk
                    connection.sendall(b"N")
                    if len(heard) > len(SSL_REQUEST):
                        return
            except OSError:
                return

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # else accept(2) waits on, and keeps the number of a descriptor
        self._socket.close()


def connect(
    system: System, endpoint: Endpoint, call_timeout_ms: int = CALL_TIMEOUT_MS, with_operators: bool = True
) -> None:
    """As a lock's client and as what looks at the servers; `with_operators`: as what erases and touches keys, too."""
    spec = system.servers
    assert spec is not None
    options = ClientOptions(call_timeout_ms=call_timeout_ms, variant=system.client_variant)
    attempts: list[Callable[[], object]] = [
        lambda: system.client_class.open(endpoint, options).close(),
        partial(spec.view, endpoint),
    ]
    if with_operators:
        attempts += [partial(spec.erase, endpoint, "key"), partial(spec.touch, endpoint, "key")]
    for attempt in attempts:
        with suppress(ConnectionError, LockbenchError, ValueError, LookupError):
            attempt()
