"""Messages between the page and what computes for it arrive whole, in order, and end with either process."""

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.channel import Channel, Message


def pair() -> tuple[Channel, socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours), ours, theirs


@given(st.lists(st.tuples(st.text(max_size=9), st.dictionaries(st.text(max_size=5), st.integers())), max_size=5))
def test_what_is_sent_is_received(told: list[tuple[str, dict[str, int]]]) -> None:
    channel, ours, theirs = pair()
    with ours, theirs:
        other = Channel(theirs)
        for number, (kind, content) in enumerate(told):
            assert other.send(kind, content, bytes([number]) * number)
            assert channel.readable(1)
            assert channel.receive() == Message(kind, content, bytes([number]) * number)
        assert not channel.readable(0)


@pytest.mark.parametrize("waits", [True, False], ids=["an end of its own", "an end that gevent made"])
def test_a_body_larger_than_the_buffers_arrives_whole(waits: bool) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(waits)
    channel = Channel(ours)
    body = bytes(range(256)) * 40_000
    with ours, theirs:
        sending = threading.Thread(target=Channel(theirs).send, args=("rows", {}, body))
        sending.start()
        assert channel.receive() == Message("rows", {}, body)
        sending.join(10)


def test_the_end_of_the_other_process_is_seen_from_both_sides() -> None:
    channel, ours, theirs = pair()
    with ours:
        theirs.sendall(b"\0\0")  # it was in the middle of a message
        theirs.close()
        assert channel.receive() is None
        assert not channel.send("moment", {})
