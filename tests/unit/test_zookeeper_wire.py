"""What the ZooKeeper client notes at its socket: which session, and until when it surely lives. No server needed."""

import struct

import pytest

from bench.systems.zookeeper.wire import Wire, _NotingSocket

MS = 1_000_000
SESSION = 0x1000_0000_0001


class StandingClock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.now_ms = 0

    def monotonic_ns(self) -> int:
        return self.now_ms * MS

    def wall_ns(self) -> int:
        raise AssertionError("a session has no business with wall time")

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a session does not sleep")


class Line:
    """A socket whose other end is the test: `arrived` is what the server sent, in pieces of at most `piece` bytes."""

    def __init__(self, piece: int = 65_536) -> None:
        self.arrived = b""
        self.piece = piece
        self.send_at_most = 65_536

    def send(self, message: bytes) -> int:
        return min(len(message), self.send_at_most)

    def recv(self, size: int) -> bytes:
        size = min(size, self.piece)
        chunk, self.arrived = self.arrived[:size], self.arrived[size:]
        return chunk

    def fileno(self) -> int:
        return 99

    def setblocking(self, _: bool) -> None: ...

    def close(self) -> None: ...


def framed(body: bytes) -> bytes:
    return struct.pack("!i", len(body)) + body


def request(number: int) -> bytes:
    return framed(struct.pack("!ii", number, 11))


def answer(number: int) -> bytes:
    return framed(struct.pack("!iqi", number, 7, 0) + b"payload")


def connect_answer(timeout_ms: int, session: int) -> bytes:
    return framed(struct.pack("!iiq", 0, timeout_ms, session) + struct.pack("!i", 16) + bytes(16) + b"\0")


class Rig:
    """A wire with one connection: `send` and `receive` do what kazoo does with its socket."""

    def __init__(self, piece: int = 65_536) -> None:
        self.clock = StandingClock()
        self.wire = Wire(self.clock, 2.0)
        self.line = Line(piece)
        self.socket = _NotingSocket(self.line, self.wire)

    def send(self, number: int, at_ms: int) -> None:
        self.clock.now_ms = at_ms
        message = memoryview(request(number))
        while message:
            message = message[self.socket.send(message) :]

    def receive(self, message: bytes, at_ms: int) -> None:
        self.clock.now_ms = at_ms
        self.line.arrived += message
        length = struct.unpack("!i", self._read(4))[0]
        self._read(length)

    def _read(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            parts += self.socket.recv(size - len(parts))
        return parts


@pytest.fixture
def rig() -> Rig:
    opened = Rig()
    opened.send(0, at_ms=0)
    opened.receive(connect_answer(1_000, SESSION), at_ms=5)
    return opened


def test_the_granted_session_is_read_from_the_connect_answer(rig: Rig) -> None:
    assert (rig.wire.session_id, rig.wire.timeout_ms, rig.wire.answered_ns) == (SESSION, 1_000, 0)


def test_a_refused_session_changes_nothing(rig: Rig) -> None:
    rig.send(0, at_ms=5_000)
    rig.receive(connect_answer(0, 0), at_ms=5_001)
    assert (rig.wire.session_id, rig.wire.timeout_ms, rig.wire.answered_ns) == (SESSION, 1_000, 0)


def test_an_answer_counts_from_the_sending_of_its_request(rig: Rig) -> None:
    rig.send(1, at_ms=100)
    assert rig.wire.answered_ns == 0
    rig.receive(answer(1), at_ms=180)
    assert rig.wire.answered_ns == 100 * MS


def test_an_answer_does_not_vouch_for_a_later_request(rig: Rig) -> None:
    rig.send(1, at_ms=100)
    rig.send(2, at_ms=150)
    rig.receive(answer(1), at_ms=180)
    assert rig.wire.answered_ns == 100 * MS


def test_pings_count_and_watch_events_do_not(rig: Rig) -> None:
    rig.send(-2, at_ms=300)
    rig.receive(answer(-1), at_ms=350)
    assert rig.wire.answered_ns == 0
    rig.receive(answer(-2), at_ms=360)
    assert rig.wire.answered_ns == 300 * MS


def test_an_answer_out_of_order_is_an_error_of_the_socket(rig: Rig) -> None:
    rig.send(1, at_ms=100)
    rig.send(2, at_ms=101)
    with pytest.raises(OSError, match="answer 2 came before an earlier one"):
        rig.receive(answer(2), at_ms=110)


def test_two_answers_in_one_segment_are_both_noted(rig: Rig) -> None:
    rig.send(1, at_ms=100)
    rig.send(2, at_ms=120)
    rig.receive(answer(1) + answer(2), at_ms=130)
    assert rig.socket.pending() == len(answer(2))
    rig.receive(b"", at_ms=131)
    assert rig.wire.answered_ns == 120 * MS
    assert rig.socket.pending() == 0


@pytest.mark.parametrize("piece", [1, 3, 4, 5, 17])
def test_messages_torn_anywhere_are_noted_all_the_same(piece: int) -> None:
    torn = Rig(piece)
    torn.line.send_at_most = piece
    torn.send(0, at_ms=0)
    torn.receive(connect_answer(1_000, SESSION), at_ms=5)
    for number in (1, 2):
        torn.send(number, at_ms=100 * number)
        torn.receive(answer(number), at_ms=100 * number + 50)
    assert (torn.wire.session_id, torn.wire.answered_ns) == (SESSION, 200 * MS)


def test_a_message_sent_in_parts_is_one_request(rig: Rig) -> None:
    rig.line.send_at_most = 7
    rig.send(1, at_ms=100)
    rig.receive(answer(1), at_ms=110)
    assert rig.wire.answered_ns == 100 * MS
