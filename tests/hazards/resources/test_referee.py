"""The referee's process: nobody's misfortune is another's."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.hazards.resources.base import Reading
from bench.hazards.resources.referee import Referee, RefereeHost
from tests.hazards.resources.hosted import attempt

# Sends half a request, says so, and waits to be stopped.
HALF = """
import socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b'{"do": "read", ')
print("sent", flush=True)
time.sleep(600)
"""


@pytest.fixture
def port() -> Iterator[int]:
    with RefereeHost().hosted() as place:
        yield place["port"]


def test_a_client_stopped_within_a_request_holds_up_nobody(port: int) -> None:
    with subprocess.Popen([sys.executable, "-c", HALF, str(port)], stdout=subprocess.PIPE, text=True) as half:
        try:
            assert half.stdout is not None
            assert half.stdout.readline() == "sent\n"
            os.kill(half.pid, signal.SIGSTOP)
            other = Referee.open({"port": port})
            assert other.write(attempt("k", 1)).accepted
            other.close()
        finally:
            half.kill()


def test_a_client_that_takes_no_answers_holds_up_nobody(port: int) -> None:
    """More answers than the kernel holds between the two: the rest waits in the referee."""
    with socket.create_connection(("127.0.0.1", port)) as deaf:
        other = Referee.open({"port": port})
        for number in range(200):
            other.write(attempt("k", number))
        asked = 200
        deaf.sendall(b'{"do": "log", "key": "k"}\n' * asked)
        assert other.write(attempt("k", 1_000, value=5)).accepted
        assert other.read("k") == Reading(5, 1_000)
        answers = b""
        while answers.count(b"\n") < asked:
            piece = deaf.recv(1 << 20)
            assert piece
            answers += piece
        assert len(answers) > 5 << 20, "the kernel alone could have held that"
        # Some may have been asked for after the other's write.
        assert {len(json.loads(line)["log"]) for line in answers.splitlines()} <= {200, 201}
        other.close()


@pytest.mark.parametrize("bad", [b"not json", b"{}", b"[]", b'{"do": "dance", "key": "k"}', b'{"do": "write"}'])
def test_a_bad_request_ends_its_connection_only(port: int, bad: bytes) -> None:
    other = Referee.open({"port": port})
    with socket.create_connection(("127.0.0.1", port), 30) as client:
        client.sendall(bad + b"\n")
        assert client.recv(100) == b""
    assert other.write(attempt("k", 1)).accepted
    other.close()
