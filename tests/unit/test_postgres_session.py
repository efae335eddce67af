"""A PostgreSQL session's deadlines, against sockets that are no PostgreSQL."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.postgres_row.connect import connect
from bench.systems.postgres_row.session import Session


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def endpoint_of(server: socket.socket) -> Endpoint:
    return Endpoint((("127.0.0.1", server.getsockname()[1]),), {"sslmode": "disable"}, {"password": "hunter2"})


def test_a_silent_server_is_given_up_in_time(listener: socket.socket) -> None:
    endpoint = endpoint_of(listener)
    began = time.monotonic()
    with pytest.raises(ConnectionError, match=str(endpoint)) as told:
        Session.open(endpoint, within_s=0.2)
    assert 0.2 <= time.monotonic() - began < 2.0
    assert "hunter2" not in str(told.value)


def test_a_refused_connection_names_the_address(listener: socket.socket) -> None:
    endpoint = endpoint_of(listener)
    listener.close()
    with pytest.raises(ConnectionError, match=str(endpoint)):
        Session.open(endpoint, within_s=1.0)


def test_a_stranger_is_no_session(listener: socket.socket) -> None:
    def answer() -> None:
        client, _ = listener.accept()
        with client:
            client.recv(1024)
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    with pytest.raises(ConnectionError):
        Session.open(endpoint_of(listener), within_s=2.0)
    thread.join()


@pytest.mark.parametrize("ttl_ms", [1_000, 10_000, 60_000])
def test_both_ends_give_up_a_dead_peer_after_about_a_ttl(ttl_ms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def refuse(endpoint: Endpoint, within_s: float, **parameters: object) -> Session:
        asked.update(parameters)
        raise ConnectionError("enough seen")

    monkeypatch.setattr(Session, "open", refuse)
    with pytest.raises(ConnectionError, match="enough seen"):
        connect(Endpoint((("127.0.0.1", 1),)), ClientOptions(ttl_ms=ttl_ms), {})
    server_side = dict(flag.split("=") for flag in str(asked["options"]).replace("-c ", "").split())
    for idle, interval, count in (
        ("keepalives_idle", "keepalives_interval", "keepalives_count"),
        ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count"),
    ):
        told = {**asked, **server_side}
        bound_s = int(str(told[idle])) + int(str(told[interval])) * int(str(told[count]))
        assert ttl_ms / 1000 - 2 <= bound_s <= ttl_ms / 1000 + 2
