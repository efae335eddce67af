"""The fault proxy against a tiny echo server: order kept, each fault does what it says, nothing is left running."""

import errno
import hashlib
import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bench.servers.breaking.proxy import Direction, FaultProxy, Shots

DEADLINE_S = 5.0
SILENCE_S = 0.15  # how long "nothing comes" is watched


class EchoServer:
    """Sends back what it gets, and remembers all of it."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()
        self.received = bytearray()
        self.changed = threading.Condition()
        self.ended: list[str] = []
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._echo, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _echo(self, connection: socket.socket) -> None:
        how = "fin"
        with connection:
            try:
                while chunk := connection.recv(65_536):
                    with self.changed:
                        self.received += chunk
                        self.changed.notify_all()
                    connection.sendall(chunk)
            except OSError:
                how = "reset"
        with self.changed:
            self.ended.append(how)
            self.changed.notify_all()

    def wait_for(self, received: bytes) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: bytes(self.received) == received, DEADLINE_S)

    def wait_ended(self) -> str:
        with self.changed:
            assert self.changed.wait_for(lambda: bool(self.ended), DEADLINE_S), "the server saw no end"
            return self.ended[0]

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    server = EchoServer()
    yield server
    server.close()


@pytest.fixture
def proxy(echo: EchoServer) -> Iterator[FaultProxy]:
    with FaultProxy(echo.address) as running:
        yield running


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[socket.socket]:
    with socket.create_connection(proxy.address, DEADLINE_S) as connection:
        yield connection


def receive(client: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count and (chunk := client.recv(count - len(received))):
        received += chunk
    return received


def hears_nothing(client: socket.socket) -> bool:
    client.settimeout(SILENCE_S)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(DEADLINE_S)
    return False


def test_bytes_pass_unchanged_in_both_directions(client: socket.socket) -> None:
    client.sendall(b"one")
    assert receive(client, 3) == b"one"


def test_two_megabytes_keep_their_order_while_the_delay_changes(client: socket.socket, proxy: FaultProxy) -> None:
    sent = random.Random(7).randbytes(2_000_000)
    writer = threading.Thread(target=client.sendall, args=(sent,))
    writer.start()
    digest, count = hashlib.sha256(), 0
    for delay_ms in (20, 0, 5, 0, 1):
        proxy.delay(delay_ms)
        piece = receive(client, 400_000)
        digest.update(piece)
        count += len(piece)
    writer.join(DEADLINE_S)
    assert count == len(sent)
    assert digest.digest() == hashlib.sha256(sent).digest()


@pytest.mark.parametrize(
    ("direction", "at_least_s"),
    [(Direction.TO_SERVER, 0.1), (Direction.TO_CLIENT, 0.1), (Direction.BOTH, 0.2)],
)
def test_a_delay_holds_each_direction(
    client: socket.socket, proxy: FaultProxy, direction: Direction, at_least_s: float
) -> None:
    proxy.delay(100, direction)
    started = time.monotonic()
    client.sendall(b"late")
    assert receive(client, 4) == b"late"
    assert time.monotonic() - started >= at_least_s


def test_late_bytes_arrive_although_the_client_has_gone(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    proxy.delay(150, Direction.TO_SERVER)
    client.sendall(b"a command")
    client.close()
    assert bytes(echo.received) == b""
    assert echo.wait_for(b"a command")


def test_dropped_bytes_and_the_end_arrive_after_restore(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    proxy.drop()
    client.sendall(b"held")
    client.shutdown(socket.SHUT_WR)
    assert hears_nothing(client)
    assert not echo.received
    assert not echo.ended, "a pulled cable passes no FIN"
    proxy.restore()
    assert receive(client, 4) == b"held"
    assert echo.wait_ended() == "fin"
    assert client.recv(1) == b""


def test_one_direction_can_be_dropped(client: socket.socket, proxy: FaultProxy, echo: EchoServer) -> None:
    proxy.drop(Direction.TO_CLIENT)
    client.sendall(b"asked")
    assert echo.wait_for(b"asked")
    assert hears_nothing(client)
    proxy.restore()
    assert receive(client, 5) == b"asked"


def test_a_reply_that_is_kept_back_is_told_of_once(client: socket.socket, proxy: FaultProxy, echo: EchoServer) -> None:
    client.sendall(b"before")
    receive(client, 6)
    proxy.drop(Direction.TO_CLIENT)
    assert not proxy.wait_reply_held(0.05)
    client.sendall(b"held")
    assert proxy.wait_reply_held(2.0)
    assert not proxy.wait_reply_held(0.05)
    proxy.restore()
    assert receive(client, 4) == b"held"


def test_a_request_that_is_kept_back_is_told_of_and_arrives_in_the_end(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    proxy.drop(Direction.TO_SERVER)
    assert not proxy.wait_request_held(0.05)
    client.sendall(b"held")
    assert proxy.wait_request_held(2.0)
    assert not proxy.wait_request_held(0.05)
    assert not echo.received
    proxy.restore()
    assert receive(client, 4) == b"held"


@pytest.mark.parametrize("gives_up", [False, True])
def test_a_held_request_is_the_marked_one_alone_and_outlives_its_client(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer, gives_up: bool
) -> None:
    shots = Shots(1)
    proxy.hold_requests(b"key", shots)
    client.sendall(b"other")
    assert receive(client, 5) == b"other"
    assert not proxy.wait_request_held(0.05)
    client.sendall(b"a key")
    assert proxy.wait_request_held(2.0)
    client.sendall(b"more")
    if gives_up:
        client.close()
    with socket.create_connection(proxy.address, DEADLINE_S) as second:
        second.sendall(b"the key too")
        assert receive(second, 11) == b"the key too", "the shot was used up"
        proxy.restore()
        assert echo.wait_for(b"otherthe key tooa keymore")
        second.sendall(b"!")
        assert receive(second, 1) == b"!"
    assert shots.fired == 1


def test_sever_resets_both_sides_and_serves_the_next(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    client.sendall(b"x")
    assert receive(client, 1) == b"x"
    proxy.sever()
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    assert echo.wait_ended() == "reset"
    with socket.create_connection(proxy.address, DEADLINE_S) as second:
        second.sendall(b"y")
        assert receive(second, 1) == b"y"


def test_hanging_up_ends_both_sides_properly_and_serves_the_next(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    client.sendall(b"a")
    assert receive(client, 1) == b"a"
    proxy.hang_up()
    assert client.recv(1) == b""
    assert echo.wait_ended() == "fin"
    with socket.create_connection(proxy.address, DEADLINE_S) as next_client:
        next_client.sendall(b"b")
        assert receive(next_client, 1) == b"b"


def test_silence_is_for_what_is_open_and_new_connections_are_served(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    client.sendall(b"a")
    assert receive(client, 1) == b"a"
    proxy.silence()
    client.sendall(b"lost")
    assert hears_nothing(client)
    with socket.create_connection(proxy.address, DEADLINE_S) as next_client:
        next_client.sendall(b"b")
        assert receive(next_client, 1) == b"b"
    assert hears_nothing(client)
    assert bytes(echo.received) == b"ab"
    proxy.restore()
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_an_address_that_moves_resets_and_serves_the_next_at_the_other_server(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    client.sendall(b"x")
    assert receive(client, 1) == b"x"
    successor = EchoServer()
    try:
        proxy.redirect(successor.address)
        with pytest.raises(ConnectionResetError):
            client.recv(1)
        with socket.create_connection(proxy.address, DEADLINE_S) as second:
            second.sendall(b"y")
            assert receive(second, 1) == b"y"
        assert successor.wait_for(b"y")
        assert bytes(echo.received) == b"x"
    finally:
        successor.close()
    with pytest.raises(ValueError, match="loopback addresses only"):
        proxy.redirect(("192.0.2.1", 80))


def test_a_swallowed_reply_was_a_command_that_ran(client: socket.socket, proxy: FaultProxy, echo: EchoServer) -> None:
    proxy.swallow_reply()
    client.sendall(b"1")
    assert proxy.wait_swallowed(DEADLINE_S)
    assert bytes(echo.received) == b"1"
    assert hears_nothing(client)
    client.sendall(b"2")
    assert receive(client, 1) == b"2", "only one reply is lost"


def test_swallow_can_sever_behind_the_lost_reply(client: socket.socket, proxy: FaultProxy) -> None:
    proxy.swallow_reply(then_sever=True)
    client.sendall(b"1")
    with pytest.raises(ConnectionResetError):
        client.recv(1)
    assert proxy.wait_swallowed(DEADLINE_S)


def test_a_lost_reply_is_that_of_the_marked_request_and_makes_its_connection_deaf(
    client: socket.socket, proxy: FaultProxy, echo: EchoServer
) -> None:
    shots = Shots(1)
    proxy.lose_replies(b"key", shots)
    client.sendall(b"ping")
    assert receive(client, 4) == b"ping", "what does not name the key is answered"
    client.sendall(b"take key")
    assert proxy.wait_swallowed(DEADLINE_S)
    client.sendall(b"ping")
    assert echo.wait_for(b"pingtake keyping"), "the server still hears it"
    assert hears_nothing(client)
    with socket.create_connection(proxy.address, DEADLINE_S) as second:
        second.sendall(b"free key")
        assert receive(second, 8) == b"free key", "one shot strikes one connection"
        assert shots.fired == 1
        proxy.restore()
        second.sendall(b"key")
        assert receive(second, 3) == b"key"
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_a_lost_reply_can_sever_its_connection(client: socket.socket, proxy: FaultProxy, echo: EchoServer) -> None:
    proxy.lose_replies(b"key", Shots(2), then_sever=True)
    client.sendall(b"take key")
    assert echo.wait_for(b"take key")
    with pytest.raises(ConnectionResetError):
        client.recv(1)


def test_a_pulled_cable_is_noticed_by_keepalives_and_heals(proxy: FaultProxy, echo: EchoServer) -> None:
    """`drop` would be acknowledged by the kernel, and no keepalive would ever notice it."""
    with (
        socket.create_connection(proxy.address, DEADLINE_S) as probing,
        socket.create_connection(proxy.address, DEADLINE_S) as sending,
    ):
        probing.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in ((socket.TCP_KEEPIDLE, 1), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 1)):
            probing.setsockopt(socket.IPPROTO_TCP, option, value)
        for client in (probing, sending):
            client.sendall(b"x")
            assert receive(client, 1) == b"x"
        proxy.unplug()
        sending.sendall(b"y")
        with pytest.raises(TimeoutError):  # no handshake: nobody acknowledges a SYN
            socket.create_connection(proxy.address, SILENCE_S)
        probing.settimeout(2 * DEADLINE_S)
        with pytest.raises(TimeoutError, match="timed out") as told:
            probing.recv(1)
        assert told.value.errno == errno.ETIMEDOUT, "the kernel's own word, not that of the socket's limit"
        assert bytes(echo.received) == b"xx"
        proxy.restore()
        sending.settimeout(2 * DEADLINE_S)  # the kernel resends at intervals that double
        assert receive(sending, 1) == b"y"
        with socket.create_connection(proxy.address, DEADLINE_S) as fresh:
            fresh.sendall(b"z")
            assert receive(fresh, 1) == b"z"


def test_a_reset_of_the_client_reaches_the_server(client: socket.socket, proxy: FaultProxy, echo: EchoServer) -> None:
    client.sendall(b"x")
    assert echo.wait_for(b"x")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()
    assert echo.wait_ended() == "reset"


def test_a_dead_target_is_a_reset() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        nobody = reserved.getsockname()
    with (
        FaultProxy(nobody) as proxy,
        pytest.raises(ConnectionResetError),  # by the connect or by the read, whichever sees it first
        socket.create_connection(proxy.address, DEADLINE_S) as client,
    ):
        client.recv(1)


def test_close_ends_thread_and_connections(echo: EchoServer) -> None:
    proxy = FaultProxy(echo.address)
    name = f"fault-proxy-{proxy.address[1]}"
    client = socket.create_connection(proxy.address, DEADLINE_S)
    client.sendall(b"x")
    assert receive(client, 1) == b"x"
    assert name in {thread.name for thread in threading.enumerate()}
    proxy.close()
    proxy.close()
    assert name not in {thread.name for thread in threading.enumerate()}
    assert client.recv(1) == b""
    client.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(proxy.address, DEADLINE_S)
    with pytest.raises(RuntimeError, match="closed"):
        proxy.drop()


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", ""])
def test_only_loopback_targets(host: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        FaultProxy((host, 6379))


def test_bad_numbers_are_refused(proxy: FaultProxy) -> None:
    with pytest.raises(ValueError, match="at least one connection"):
        Shots(0)
    with pytest.raises(ValueError, match="negative"):
        proxy.delay(-1)
    with pytest.raises(ValueError, match="at least one"):
        proxy.swallow_reply(0)


def test_who_listens_hears_each_piece_at_the_clients_end(proxy: FaultProxy, client: socket.socket) -> None:
    heard: list[Direction] = []
    proxy.overhear(heard.append)
    proxy.delay(30.0)
    for _ in range(2):
        client.sendall(b"question")
        assert client.recv(100) == b"question"
        assert heard[-1] is Direction.TO_CLIENT, "heard before the client has it"
    proxy.restore()
    client.sendall(b"again")
    assert client.recv(100) == b"again"
    assert heard == [Direction.TO_SERVER, Direction.TO_CLIENT] * 3
