"""The one probe of a round trip: a byte there and back over TCP, timed by whoever sent it.

It is used for loopback itself and for every emulated network, so that their numbers can be subtracted.
"""

import os
import socket
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

_ENDS_WITHIN_S = 5.0
_ANSWERS_WITHIN_S = 5.0


@contextmanager
def echoing(processors: Collection[int] | None = None) -> Iterator[tuple[str, int]]:
    """A server at 127.0.0.1 that sends back what it gets, on one connection after another.

    `processors` are those that it may run on; None: all.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        echo = threading.Thread(target=_echo, args=(listener, processors), daemon=True)
        echo.start()
        try:
            yield listener.getsockname()
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # it may still wait for a connection
            echo.join(_ENDS_WITHIN_S)


@contextmanager
def on(processors: Collection[int]) -> Iterator[None]:
    """Keep the calling thread on these processors for a block."""
    allowed = os.sched_getaffinity(0)  # of this thread, as is what is set below
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def round_trips_us(
    address: tuple[str, int], at_least: int, at_most: int, within_s: float = float("inf")
) -> Sequence[float]:
    """The time of each round trip to an echo, in µs: as many as fit into `within_s`, between the two bounds.

    Raises OSError where nobody answers.
    """
    samples: list[float] = []
    with socket.create_connection(address, timeout=_ANSWERS_WITHIN_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        until_ns = time.perf_counter_ns() + within_s * 1e9
        while len(samples) < at_least or (len(samples) < at_most and time.perf_counter_ns() < until_ns):
            started = time.perf_counter_ns()
            client.sendall(b"x")
            if not client.recv(1):
                raise ConnectionResetError(f"the echo at {address[0]}:{address[1]} has ended")
            samples.append((time.perf_counter_ns() - started) / 1_000)
    return samples


def _echo(listener: socket.socket, processors: Collection[int] | None) -> None:
    if processors is not None:
        os.sched_setaffinity(0, processors)
    with suppress(OSError):  # the listener was shut down
        while True:
            peer, _ = listener.accept()
            # Who asks may be interrupted in the middle of a burst: there is nobody left to answer then.
            with peer, suppress(ConnectionError):
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while received := peer.recv(64):
                    peer.sendall(received)
