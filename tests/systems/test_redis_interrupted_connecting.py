"""Ctrl-C, or a killed greenlet, at every instant of connecting: no connection is left, whoever keeps the traceback."""

import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.redis.wire import connected, new_wire
from tests.certificates import Authority
from tests.striking import strike

WITHIN_S = 10.0
INSTANTS_MAX = 1_000  # connecting has far fewer: the end of a hang


@pytest.fixture(params=["plain", "TLS"])
def endpoint(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Endpoint]:
    """Somebody who accepts every connection, and shakes hands with TLS."""
    secure, authority = request.param == "TLS", Authority(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.sign("server").both)

    def attend(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(WITHIN_S)
            with context.wrap_socket(connection, server_side=True) if secure else connection as ours:
                ours.recv(1)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=attend, args=listener.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        secrets = {"tls_ca": str(authority.certificate)} if secure else {}
        yield Endpoint((("127.0.0.1", listener.getsockname()[1]),), {}, secrets, tls=secure)
        listener.shutdown(socket.SHUT_RDWR)


def connections(to: Endpoint) -> list[str]:
    (address,) = to.addresses
    return [str(one) for one in psutil.Process(os.getpid()).net_connections("tcp") if one.raddr == address]


def test_nothing_is_left(endpoint: Endpoint) -> None:
    (host, port), instant, struck = endpoint.addresses[0], 0, True
    with connected(endpoint, host, port, WITHIN_S) as wire:
        connecting = type(wire).greet.__code__  # and what is imported at the first time is
    while struck:
        wire = new_wire(endpoint, host, port, WITHIN_S)
        ended = strike(wire.greet, connecting, instant)
        struck = ended.struck
        assert struck or len(connections(endpoint)) == 1
        wire.disconnect()
        assert not connections(endpoint), f"ended at instant {instant} by {ended.raised}"  # which keeps its frames
        instant += 1
        assert instant < INSTANTS_MAX
    assert instant > 20, "connecting has more instants than that"
