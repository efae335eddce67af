"""Ctrl-C, or a killed greenlet, at every instant of connecting: no connection is left, whoever keeps the traceback."""

import os
import socket
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

import psutil
import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.redis.wire import Wire, connected, new_wire
from tests.certificates import Authority

WITHIN_S = 10.0
INSTANTS_MAX = 1_000  # connecting has far fewer: the end of a hang


class Struck(KeyboardInterrupt):
    """At an instant that the test chose."""


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


def strike(wire: Wire, instant: int) -> Struck | None:
    """Connect, and be ended at that instant: what ended it, with its traceback; None: there are fewer instants."""
    left, connecting = instant, type(wire).greet.__code__

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        callers: FrameType | None = frame
        while callers is not None and callers.f_code is not connecting:
            callers = callers.f_back
        if callers is not None and event in ("call", "c_return"):  # where the interpreter looks for signals
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise Struck

    sys.setprofile(profile)
    try:
        wire.greet()
    except Struck as struck:
        return struck
    finally:
        sys.setprofile(None)
    return None


def connections(to: Endpoint) -> list[str]:
    (address,) = to.addresses
    return [str(one) for one in psutil.Process(os.getpid()).net_connections("tcp") if one.raddr == address]


def test_nothing_is_left(endpoint: Endpoint) -> None:
    (host, port), instant = endpoint.addresses[0], 0
    with connected(endpoint, host, port, WITHIN_S):
        pass  # what is imported at the first time is
    while (struck := strike(wire := new_wire(endpoint, host, port, WITHIN_S), instant)) is not None:
        wire.disconnect()
        assert not connections(endpoint), f"ended at instant {instant}"
        del struck  # only now: its frames keep what they had
        instant += 1
        assert instant < INSTANTS_MAX
    assert len(connections(endpoint)) == 1
    wire.disconnect()
    assert not connections(endpoint)
    assert instant > 20, "connecting has more instants than that"
