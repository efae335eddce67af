"""One request, one try, and the three ways in which it can fail, against small HTTP servers of our own."""

import json
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.dynamodb.calls import ConditionFailed, NoAnswer, NotDone, call, shared_client
from bench.systems.dynamodb.tables import pending_tables

CALL_TIMEOUT_MS = 300


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[tuple[Endpoint, list[bytes]]]:
    """A server that reads each request to its end, keeps it, and then does as told with the connection."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return  # closed: the test is over
                with client:
                    requests.append(read_request(client))
                    answer(client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Endpoint((("127.0.0.1", server.getsockname()[1]),)), requests
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def read_request(client: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(65_536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < length:
        body += client.recv(65_536)
    return head + b"\r\n\r\n" + body


def replying(status: str, body: dict[str, object]) -> Callable[[socket.socket], None]:
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode()
    return lambda client: client.sendall(head + text)


def read(endpoint: Endpoint) -> object:
    client = shared_client(endpoint, CALL_TIMEOUT_MS)
    return call(client.get_item, TableName="lockbench_locks", Key={"k": {"S": "a"}})


def refusal(code: str, **more: object) -> dict[str, object]:
    return {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **more}


def test_a_closed_connection_is_no_answer_and_is_not_tried_again() -> None:
    with serving(lambda client: None) as (endpoint, requests):
        with pytest.raises(NoAnswer):
            read(endpoint)
        assert len(requests) == 1


def test_silence_is_no_answer_in_about_the_call_timeout() -> None:
    told = threading.Event()

    def stay_silent(_: socket.socket) -> None:
        told.wait(60)

    with serving(stay_silent) as (endpoint, requests):
        began = time.monotonic()
        with pytest.raises(NoAnswer):
            read(endpoint)
        told.set()
        # Asked once: a second try would be a second request. A busy machine may wake the client seconds late.
        assert CALL_TIMEOUT_MS / 1000 <= time.monotonic() - began < 30
        assert len(requests) == 1


def test_an_answer_that_breaks_off_is_none() -> None:
    def answer_half(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing sends a reset

    with serving(answer_half) as (endpoint, requests), pytest.raises(NoAnswer):
        read(endpoint)
    assert len(requests) == 1


def test_a_refused_connection_was_not_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint((("127.0.0.1", server.getsockname()[1]),))
    with pytest.raises(NotDone) as told:
        read(endpoint)
    assert told.value.code == ""


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        ("500 Internal Server Error", "InternalServerError", NoAnswer),
        ("503 Service Unavailable", "ServiceUnavailable", NoAnswer),
        ("400 Bad Request", "ProvisionedThroughputExceededException", NotDone),
        ("400 Bad Request", "ValidationException", NotDone),
        ("400 Bad Request", "ConditionalCheckFailedException", ConditionFailed),
    ],
)
def test_what_a_refusal_means_for_the_write(status: str, code: str, kind: type[Exception]) -> None:
    with serving(replying(status, refusal(code))) as (endpoint, requests):
        with pytest.raises(kind) as told:
            read(endpoint)
        assert len(requests) == 1
        if isinstance(told.value, NotDone):
            assert told.value.code == code


def test_a_failed_condition_brings_the_item_where_the_engine_sends_it() -> None:
    item = {"holder": {"S": "a"}}
    with serving(replying("400 Bad Request", refusal("ConditionalCheckFailedException", Item=item))) as (endpoint, _):
        with pytest.raises(ConditionFailed) as told:
            read(endpoint)
        assert told.value.item == item


def test_another_http_server_is_not_taken_for_the_api() -> None:
    with serving(replying("200 OK", {"hello": "world"})) as (endpoint, _), pytest.raises(NotDone, match="DynamoDB API"):
        pending_tables(shared_client(endpoint, CALL_TIMEOUT_MS))


def test_a_client_is_made_once_for_an_endpoint_and_a_timeout() -> None:
    endpoint = Endpoint((("127.0.0.1", 9),))
    assert shared_client(endpoint, 100) is shared_client(endpoint, 100)
    assert shared_client(endpoint, 100) is not shared_client(endpoint, 200)
    assert shared_client(endpoint, 100) is not shared_client(endpoint.at((("127.0.0.1", 10),)), 100)


def test_an_emulator_never_sees_real_credentials_nor_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDREAL")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "real")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serving(replying("200 OK", {})) as (endpoint, requests):
        read(endpoint)
        (request,) = requests
    assert b"Credential=lockbench/" in request
    assert b"AKIDREAL" not in request


class Thrown(Exception):
    """What a program's own signal handler raises."""


@pytest.mark.parametrize("thrown", [Thrown, KeyboardInterrupt, SystemExit])
def test_what_a_signal_handler_raises_is_the_callers(thrown: type[BaseException]) -> None:
    """botocore would take an Exception that strikes while it waits for a failure of its connection."""

    def throw(_: int, __: object) -> None:
        raise thrown

    before = signal.signal(signal.SIGALRM, throw)
    try:
        with serving(lambda client: time.sleep(CALL_TIMEOUT_MS / 1000)) as (endpoint, _):
            shared_client(endpoint, CALL_TIMEOUT_MS)
            signal.setitimer(signal.ITIMER_REAL, CALL_TIMEOUT_MS / 3000)
            with pytest.raises(thrown):
                read(endpoint)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
