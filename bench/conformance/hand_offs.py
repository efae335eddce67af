"""The round trips of a hand-off, counted at the waiter's sockets and held against what the system states."""

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from bench.conformance.bounds import FAR_ROUND_TRIP_MS, PATIENCE_MS
from bench.conformance.harness import Harness, let_pass
from bench.conformance.links import warm
from bench.conformance.together import Running, together
from bench.servers.breaking.proxy import Direction
from bench.systems.base import LockClient, Released
from bench.systems.clock import SYSTEM_CLOCK
from bench.systems.wait import PLAIN, Wait

# The release falls into a pause of those who ask again, and the next look of those who are woken is not due yet.
LISTENING_MS, INTERVAL_MS = 300, 800
# What keeps a connection or a lease alive may fall into one hand-off, and is not seen in the next. Whatever belongs to
# a hand-off is in all of them.
ROUNDS = 3


@dataclass
class Overheard:
    """What one client's sockets sent and were given, with the instants in nanoseconds."""

    pieces: list[tuple[int, Direction]] = field(default_factory=list)

    def __call__(self, direction: Direction) -> None:
        self.pieces.append((SYSTEM_CLOCK.monotonic_ns(), direction))

    def round_trips(self, from_ns: int, until_ns: int) -> int:
        """Those that follow one another: how often something was sent, and next something came.

        Requests side by side count once. What comes unasked, as a wake-up does, is no round trip.
        """
        pieces = sorted(self.pieces, key=lambda piece: piece[0])
        ways = [way for at_ns, way in pieces if from_ns <= at_ns <= until_ns]
        return sum(two == (Direction.TO_SERVER, Direction.TO_CLIENT) for two in pairwise(ways))


def check_hand_off_takes_its_round_trips(bench: Harness) -> None:
    """From a release to the next client's grant, by each way to wait, there are as many round trips as the system
    states (`System.hand_off_trips`, or those of an acquire): the layout of a hand-off in tables is made with them."""
    bench.round_trip_ms = FAR_ROUND_TRIP_MS  # requests made side by side are all sent before the first reply
    counted: dict[Wait, list[int]] = {_patient(wait): [] for wait in bench.waits}
    for _ in range(ROUNDS):
        left = [wait for wait, trips in counted.items() if stated(bench, wait) not in trips]
        handed = together([partial(_handed, bench, wait) for wait in left], PATIENCE_MS)
        for wait, trips in zip(left, handed, strict=True):
            counted[wait].append(trips)
    wrong = [
        f"{', '.join(map(str, trips))} by {wait.strategy}, stated {stated(bench, wait)}"
        for wait, trips in counted.items()
        if stated(bench, wait) not in trips
    ]
    assert not wrong, f"the round trips of {ROUNDS} hand-offs were {'; '.join(wrong)}"


def stated(bench: Harness, wait: Wait) -> int:
    """Round trips between client and servers from a release to the next grant, as the system's folder says."""
    handed = bench.system.hand_off_trips.get(wait.strategy)
    return bench.capabilities.acquire_round_trips if handed is None else handed.client


def _patient(wait: Wait) -> Wait:
    """The same way, with the same pause each time."""
    if wait.strategy in PLAIN:
        return wait
    cap_ms = float(INTERVAL_MS) if wait.cap_ms else 0.0
    return replace(wait, interval_ms=float(INTERVAL_MS), cap_ms=cap_ms, jitter_percent=0, jitter="")


def _handed(bench: Harness, wait: Wait) -> int:
    wire, key, holder, heard = bench.wire(), bench.new_key(), bench.open(), Overheard()
    waiter = bench.open(via=wire)
    warm(bench, waiter)
    grant = bench.take(holder, key, wait=wait)
    wire.overhear(heard)
    waiting = Running(partial(_granted, bench, waiter, key, wait))
    let_pass(LISTENING_MS)
    freed_ns = SYSTEM_CLOCK.monotonic_ns()  # what the waiter does before the answer, it does not do for the release
    released = holder.release(grant)
    assert isinstance(released, Released), f"the holder's release said {released}"
    return heard.round_trips(freed_ns, waiting.result(PATIENCE_MS))


def _granted(bench: Harness, waiter: LockClient, key: str, wait: Wait) -> int:
    """When it was."""
    grant = bench.take(waiter, key, wait=wait)
    got_ns = SYSTEM_CLOCK.monotonic_ns()
    waiter.release(grant)
    return got_ns
