"""Lines are as long as they say, idle and under load: measured with the bench's own probe, beside loopback itself."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from bench.campaign.networks import Emulated
from bench.records.network import read_network
from bench.records.round_trip import echoing, on, round_trips_us
from bench.servers.network.counts import Counts
from bench.servers.network.lines import Lines, open_lines
from bench.servers.running.pinning import place

RTTS_MS = (0.0, 0.2, 0.5, 1.0, 5.0, 50.0)
ATTEMPTS = 3  # a line that is off is so each time, and a machine that was disturbed is not
WITHIN_SHARE, WITHIN_US = 0.05, 60.0
WITHIN_ROUND_TRIPS = 3.0  # of loopback right beside it: what a line costs grows with what everything costs there
ROUNDS = 3  # of probes, alternating with loopback: the median of their medians counts
TARGET = ("127.0.0.1", 1)
CONNECTIONS = 4
# Connections that ask and pause, in a process of their own: it has the echo too, and says where.
LOAD = """
import socket, sys, threading, time
def echo(peer):
    while received := peer.recv(64):
        peer.sendall(received)
def accept():
    while True:
        peer, _ = listener.accept()
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=echo, args=(peer,), daemon=True).start()
def ask(line):
    while True:
        line.sendall(b"x")
        line.recv(1)
        time.sleep(pause_s)
listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, daemon=True).start()
print(listener.getsockname()[1], flush=True)
port, connections, pause_s = sys.stdin.readline().split()
pause_s = float(pause_s)
lines = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(int(connections))]
for line in lines:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.sendall(b"x")
    line.recv(1)
    threading.Thread(target=ask, args=(line,), daemon=True).start()
print("asking", flush=True)
sys.stdin.read()
"""

pytestmark = [pytest.mark.measures]


@contextmanager
def loaded(lines: Lines, connections: int, pause_s: float = 0.001) -> Iterator[None]:
    """So many connections ask over the line all the time; later ones are for somebody else."""
    if not connections:
        yield
        return
    with subprocess.Popen(
        [sys.executable, "-c", LOAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines.divert(("127.0.0.1", int(process.stdout.readline())))
        process.stdin.write(f"{lines.places[TARGET][1]} {connections} {pause_s}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "asking\n"
        try:
            yield
        finally:
            process.stdin.close()


def rate_and_share(before: Counts, after: Counts) -> tuple[float, float]:
    """Messages a second, and of a processor."""
    seconds = (after.at_ns - before.at_ns) / 1e9
    return (after.messages - before.messages) / seconds, (after.cpu_ns - before.cpu_ns) / 1e9 / seconds


def rounds_us(place: tuple[str, int], echo: tuple[str, int], samples: int) -> Sequence[tuple[float, float]]:
    """By round: what the line adds to the median of loopback right beside it, and that median."""
    found = []
    for _ in range(ROUNDS):
        direct = statistics.median(round_trips_us(echo, 200, 200))
        found.append((statistics.median(round_trips_us(place, samples, samples)) - direct, direct))
    return found


@pytest.mark.parametrize("load", [False, True], ids=["idle", "under load"])
@pytest.mark.parametrize("rtt_ms", RTTS_MS)
def test_the_added_round_trip_is_as_asked_for(rtt_ms: float, load: bool) -> None:
    wanted_us = rtt_ms * 1_000.0
    seen: list[tuple[float, float]] = []
    for _ in range(ATTEMPTS):
        added_us, direct_us = measured_us(rtt_ms, load)
        off_us = abs(added_us - wanted_us)
        limit_us = max(WITHIN_SHARE * wanted_us, WITHIN_US, WITHIN_ROUND_TRIPS * direct_us)
        if off_us <= limit_us:
            return
        seen.append((off_us, limit_us))
    pytest.fail(f"off by, and the limit, in µs: {seen}")


def measured_us(rtt_ms: float, load: bool) -> tuple[float, float]:
    """What a line adds, trimmed and measured as for a run; and loopback beside it."""
    asked = read_network(f"rtt={rtt_ms}ms")
    assert asked is not None
    places = place(True, 1)
    with open_lines([TARGET]) as lines, echoing(places.servers) as echo:
        network = Emulated(asked, lines, echo, places.generator)
        with loaded(lines, CONNECTIONS if load else 0):
            before = lines.divert(echo)
            samples = 200 if rtt_ms < 2 else 40 if rtt_ms < 20 else 8
            with on(places.generator):
                rounds = rounds_us(lines.places[TARGET], echo, samples)
            per_s, share = rate_and_share(before, lines.counts())
    wanted_us = rtt_ms * 1_000.0
    added_us = [added for added, _ in rounds]
    found_us, direct_us = statistics.median(added_us), statistics.median(direct for _, direct in rounds)
    print(
        f"{rtt_ms:5.1f} ms {'loaded' if load else 'idle  '}: added {found_us:9.1f} µs "
        f"({found_us - wanted_us:+.1f}), rounds {min(added_us):.1f} to {max(added_us):.1f}, loopback {direct_us:.1f}, "
        f"overhead alone {network.undelayed.us_p50 - network.direct.us_p50:.1f} µs; "
        f"{per_s:,.0f} messages/s of {network.per_s_at_most:,.0f}, {share:.0%} of a processor"
    )
    return found_us, direct_us


def test_what_the_line_is_full_at_is_no_less_than_what_the_probe_says() -> None:
    """Messages that come together cost less than one by one, so the limit in a record errs to the safe side."""
    asked = read_network("rtt=0ms")
    assert asked is not None
    places = place(True, 1)
    with open_lines([TARGET]) as lines, echoing(places.servers) as echo:
        network = Emulated(asked, lines, echo, places.generator)
        with loaded(lines, 4 * CONNECTIONS, pause_s=0.0):
            before = lines.divert(echo)
            time.sleep(1.0)  # pace: how long they ask, as fast as they can
            per_s, share = rate_and_share(before, lines.counts())
    print(
        f"flooded: {per_s:,.0f} messages/s at {share:.0%} of a processor; the probe says {network.per_s_at_most:,.0f}"
    )
    assert per_s / share > 0.8 * network.per_s_at_most
    assert per_s / share > 5_000
