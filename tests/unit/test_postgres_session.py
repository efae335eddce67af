"""A PostgreSQL session's deadlines, mostly against sockets that are no PostgreSQL."""

import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import cast

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.postgres_row.connect import connect
from bench.systems.postgres_row.session import Session
from tests.unit.postgres_server import Server


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


@pytest.mark.servers
def test_time_may_run_out_at_any_moment_of_opening(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine can take all of it between two looks at the clock."""
    real = time.monotonic
    said: list[str] = []
    opened = False
    while not opened:
        looks = iter(range(len(said) + 1))
        monkeypatch.setattr(time, "monotonic", lambda looks=looks: real() + (1_000 if next(looks, None) is None else 0))
        try:
            Session.open(server.endpoint, within_s=10.0).close()
            opened = True
        except ConnectionError as failed:
            said.append(str(failed))
    assert len(said) >= 4, "of connecting, logging in and two questions"
    assert all(re.search("did not let us in within 10 s|no answer within", one) for one in said)


@pytest.mark.parametrize("ttl_ms", [1_000, 10_000, 60_000])
def test_both_ends_give_up_a_dead_peer_after_about_a_ttl_the_client_first(
    ttl_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, object] = {}

    def refuse(endpoint: Endpoint, within_s: float, **parameters: object) -> Session:
        asked.update(parameters)
        raise ConnectionError("enough seen")

    monkeypatch.setattr(Session, "open", refuse)
    with pytest.raises(ConnectionError, match="enough seen"):
        connect(Endpoint((("127.0.0.1", 1),)), ClientOptions(ttl_ms=ttl_ms), {})
    server_side = cast(dict[str, object], asked["settings"])
    client_s = _given_up_after_s(
        {name: int(str(asked[name])) for name in asked if name.startswith(("keepalives", "tcp"))}
    )
    server_s = _given_up_after_s(
        {name.removeprefix("tcp_"): int(str(value)) for name, value in server_side.items() if name.startswith("tcp_")}
    )
    assert ttl_ms / 1000 - 1 <= client_s <= ttl_ms / 1000 + 1
    assert client_s + 1 <= server_s <= 1.5 * ttl_ms / 1000 + 2, "the client must know first"


def _given_up_after_s(told: dict[str, int]) -> int:
    """By the count of probes, and by the first turn after the user timeout (tcp(7)), which must agree."""
    idle, interval = told["keepalives_idle"], told["keepalives_interval"]
    by_count = idle + interval * told["keepalives_count"]
    user_timeout_ms = told.get("user_timeout", told.get("tcp_user_timeout", 0))
    by_time = idle
    while by_time * 1000 < user_timeout_ms or by_time == idle:  # at least one probe is sent
        by_time += interval
    assert by_time == by_count
    return by_count
