"""The probe of a round trip: it asks as often as it was told, and its echo outlives whoever asks."""

import os
import socket
import struct
import threading

import pytest

from bench.records.round_trip import echoing, on, round_trips_us


def test_as_many_samples_as_fit_between_the_bounds() -> None:
    with echoing() as address:
        assert len(round_trips_us(address, 7, 7)) == 7
        assert len(round_trips_us(address, 3, 10_000_000, within_s=0.0)) == 3
        assert 3 < len(round_trips_us(address, 3, 10_000_000, within_s=0.2)) < 10_000_000
        assert all(us > 0.0 for us in round_trips_us(address, 7, 7))


def test_whoever_ends_with_a_reset_leaves_an_echo_for_the_next() -> None:
    before = threading.active_count()
    with echoing(os.sched_getaffinity(0)) as address:
        for _ in range(3):
            with socket.create_connection(address, timeout=5) as asker:
                asker.sendall(b"x")
                assert asker.recv(1) == b"x"
                asker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert len(round_trips_us(address, 2, 2)) == 2
    assert threading.active_count() == before
    with pytest.raises(OSError, match="refused"):
        round_trips_us(address, 1, 1)


def test_the_thread_is_put_back_where_it_may_run() -> None:
    before = os.sched_getaffinity(0)
    with on({min(before)}):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before
