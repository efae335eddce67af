"""Delay lines as a process: what TCP promises is kept, nothing is left running, and a death is noticed."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil
import pytest

from bench.records.round_trip import echoing, round_trips_us
from bench.servers.endpoint import Endpoint
from bench.servers.network.flow import BACKLOG_BYTES_MAX
from bench.servers.network.lines import Lines, LinesFailed, open_lines
from bench.servers.running.ports import free_ports

PATIENT_S = 20.0
Address = tuple[str, int]


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENT_S)
        yield listener


@contextmanager
def connected(lines: Lines, listener: socket.socket) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's end and the server's of one connection over the line."""
    with socket.create_connection(lines.places[listener.getsockname()], timeout=PATIENT_S) as client:
        server, _ = listener.accept()
        with server:
            server.settimeout(PATIENT_S)
            yield client, server


def everything(end: socket.socket) -> bytes:
    found = b""
    while piece := end.recv(65_536):
        found += piece
    return found


def numbered(count: int) -> bytes:
    return b"".join(b"%07d\n" % number for number in range(count))


def test_a_connection_whose_server_ended_first_is_closed_in_the_end() -> None:
    """The client goes on sending, and is answered by a reset; nothing of the connection stays open in the line."""
    with listening() as listener, open_lines([listener.getsockname()]) as lines:
        before = psutil.Process(lines.pid).num_fds()
        for _ in range(5):
            with connected(lines, listener) as (client, server):
                server.close()
                assert client.recv(1) == b""
                with suppress(ConnectionError):
                    for _ in range(50):
                        client.sendall(b"more")
                        lines.counts()  # the line has had its turn
        deadline = time.monotonic() + PATIENT_S
        while (open_now := psutil.Process(lines.pid).num_fds()) > before:
            assert time.monotonic() < deadline, (before, open_now)
            lines.counts()


@pytest.mark.parametrize("hold_us", [0.0, 700.0])
def test_order_is_kept_both_ways_and_half_closed_connections_work(hold_us: float) -> None:
    """With jitter, in many pieces, while the hold changes; and the server still answers after the client's end."""
    with listening() as listener, open_lines([listener.getsockname()], jitter_us=300.0, seed=3) as lines:
        lines.hold(hold_us, hold_us)
        with connected(lines, listener) as (client, server):
            sent = numbered(2_000)

            def speak(end: socket.socket) -> None:
                for start in range(0, len(sent), 80):
                    end.sendall(sent[start : start + 80])
                end.shutdown(socket.SHUT_WR)

            speaking = threading.Thread(target=speak, args=(client,))
            speaking.start()
            lines.hold(0.0, 0.0)
            assert everything(server) == sent
            speaking.join()
            speak(server)
            assert everything(client) == sent
        assert lines.counts().messages > 2


def test_a_shorter_hold_lets_nothing_overtake() -> None:
    with listening() as listener, open_lines([listener.getsockname()]) as lines:
        lines.hold(150_000.0, 0.0)
        with connected(lines, listener) as (client, server):
            client.sendall(b"first")
            assert not lines.counts().messages
            while lines.hold(0.0, 0.0).messages:
                pytest.skip("the machine stood still for longer than the hold")
            client.sendall(b"second")
            client.shutdown(socket.SHUT_WR)
            assert everything(server) == b"firstsecond"


def test_a_reset_and_a_refusal_are_passed_on() -> None:
    (nobody,) = free_ports(1)
    with listening() as listener, open_lines([listener.getsockname(), ("127.0.0.1", nobody)]) as lines:
        lines.hold(500.0, 500.0)
        with connected(lines, listener) as (client, server):
            server.sendall(b"last words")
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            server.close()
            with pytest.raises(ConnectionResetError):
                everything(client)
        with (
            pytest.raises(ConnectionResetError),  # while it connects, or with its first read
            socket.create_connection(lines.places["127.0.0.1", nobody], timeout=PATIENT_S) as refused,
        ):
            everything(refused)


def test_a_reader_that_stops_is_felt_by_the_sender_and_loses_nothing() -> None:
    with (
        listening() as listener,
        open_lines([listener.getsockname()]) as lines,
        connected(lines, listener) as (
            client,
            server,
        ),
    ):
        client.settimeout(1.0)
        sent = bytearray()
        piece = numbered(8_192)

        def send() -> None:
            while len(sent) < 16 * BACKLOG_BYTES_MAX:
                sent.extend(piece[: client.send(piece)])

        with pytest.raises(TimeoutError):
            send()
        assert len(sent) >= BACKLOG_BYTES_MAX
        found = bytearray()
        while len(found) < len(sent):
            found += server.recv(1 << 20)
        assert found == sent


def test_connections_are_lost_after_their_life() -> None:
    with listening() as listener, open_lines([listener.getsockname()], reset_after_s=0.1, seed=1) as lines:
        for _ in range(3):
            with connected(lines, listener) as (client, server):
                for end in (client, server):
                    with pytest.raises(ConnectionResetError):
                        everything(end)


def test_new_connections_can_be_diverted_to_the_probe_and_back() -> None:
    with listening() as listener, echoing() as echo, open_lines([listener.getsockname()]) as lines:
        lines.divert(echo)
        lines.hold(1_000.0, 1_000.0)
        (place,) = lines.places.values()
        assert min(round_trips_us(place, 5, 5)) > 2_000.0
        lines.divert(None)
        with connected(lines, listener) as (client, server):
            client.sendall(b"to the server")
            client.shutdown(socket.SHUT_WR)
            assert everything(server) == b"to the server"
            server.shutdown(socket.SHUT_WR)
            assert everything(client) == b"", "the end is a message too: now none is on its way"
        counts = lines.counts()
        assert counts.messages >= 10
        assert counts.late_us_p50 is not None
        assert 0.0 <= counts.late_us_p50 <= (counts.late_us_p99 or 0.0)
        assert lines.counts().late_us_p50 is None, "none was held since"


def test_an_endpoint_is_led_through_all_its_lines() -> None:
    nodes = tuple(("127.0.0.1", port) for port in free_ports(3))
    with open_lines([*nodes, nodes[0]]) as lines:
        endpoint = Endpoint(nodes, {"database": "locks"}, {"password": "secret"})
        through = lines.through(endpoint)
        assert (through.options, through.secrets) == (endpoint.options, endpoint.secrets)
        assert len(set(through.addresses)) == 3
        assert not set(through.addresses) & set(nodes)
        with pytest.raises(KeyError):
            lines.through(Endpoint((("127.0.0.1", 1),)))


def test_a_line_process_that_was_killed_is_reported() -> None:
    with open_lines([("127.0.0.1", 1)]) as lines:
        os.kill(lines.pid, signal.SIGKILL)
        with pytest.raises(LinesFailed, match="the delay lines"):
            lines.counts()


def test_it_ends_with_its_block_and_with_a_parent_that_was_killed() -> None:
    with open_lines([("127.0.0.1", 1)]) as lines:
        of_the_block = psutil.Process(lines.pid)
    assert not of_the_block.is_running()
    program = (
        "from bench.servers.network.lines import open_lines\n"
        "with open_lines([('127.0.0.1', 1)]) as lines:\n"
        "    print(lines.pid, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(PATIENT_S)
