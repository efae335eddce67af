"""Do acquires of different keys run side by side in this process? The commonest silent fault of a gevent load test.

A client library that gevent cannot patch (gRPC without its initialiser, a C driver) blocks the whole process during a
call: clients then run one after another, nothing is ever contended, and latencies look better, not worse. A library
that queues its callers for a lock of its own has the same effect. So before the warm-up a few clients acquire keys of
their own, in turn one alone and all at once.
"""

import resource
from collections.abc import Sequence
from itertools import pairwise
from time import monotonic_ns, thread_time_ns
from typing import NamedTuple

import gevent
from gevent.event import Event

from bench.load.options import LoadSettings
from bench.systems.base import Grant, LockClient, Refusal
from bench.systems.wait import Wait

CLIENTS = 6
ROUNDS = 12
_TRY = Wait("try")


class ProbeFailed(Exception):
    """An acquire of a key that nobody else uses was refused, or gave another lease."""


class _Alone(NamedTuple):
    took_ns: int
    waited_ns: int
    blocked: bool


def observe_overlap(clients: Sequence[LockClient], keys: Sequence[str], settings: LoadSettings) -> dict[str, float]:
    """Each client acquires and releases its own key, again and again. Raises ProbeFailed.

    Returns the following. Times are the shortest of all rounds: what a busy machine does to a time is to lengthen it,
    and a serial client is serial every time.

    - `overlap_rounds`: how often all ran at once;
    - `overlap_rounds_overlapping`: in how many of these any two calls overlapped;
    - `overlap_speedup`: the clients' number times one client's time alone, divided by the time from the first start to
      the last end when all ran at once: the clients' number when they do not disturb each other, 1 when they queue;
    - `overlap_alone_us`: one client's acquire alone;
    - `overlap_wait_us`: the part of its acquire and release in which this thread had nothing to compute, which is what
      could overlap;
    - `overlap_blocked_share`: the share of single acquires in which the process slept and the event loop did not turn.
    """
    pairs = tuple(zip(clients, keys, strict=True))
    for client, key in pairs:
        _acquire(client, key, settings)  # the first acquire of a key may have to create it
    alone: list[_Alone] = []
    together_ns: list[int] = []
    overlapping = 0
    for _ in range(ROUNDS):  # alternately, so that a neighbour's noise falls on both
        alone.append(_observe_alone(*pairs[0], settings))
        intervals = _run_together(pairs, settings)
        overlapping += any(later[0] < earlier[1] for earlier, later in pairwise(intervals))
        together_ns.append(max(end for _, end in intervals) - intervals[0][0])
    alone_ns = min(one.took_ns for one in alone)
    return {
        "overlap_rounds": float(ROUNDS),
        "overlap_rounds_overlapping": float(overlapping),
        "overlap_speedup": len(pairs) * alone_ns / max(1, min(together_ns)),
        "overlap_alone_us": alone_ns / 1e3,
        "overlap_wait_us": min(one.waited_ns for one in alone) / 1e3,
        "overlap_blocked_share": sum(one.blocked for one in alone) / ROUNDS,
    }


def _observe_alone(client: LockClient, key: str, settings: LoadSettings) -> _Alone:
    loop = gevent.get_hub().loop
    turns, sleeps = loop.iteration, resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    busy_ns, began_ns = thread_time_ns(), monotonic_ns()
    started_ns, answered_ns = _acquire(client, key, settings)
    waited_ns = (monotonic_ns() - began_ns) - (thread_time_ns() - busy_ns)
    # A server that answers before its client looks for the answer needs no wait, and a busy machine may take the
    # processor away at any time. Neither is counted: giving the processor up by itself is what a blocking call does,
    # and a cooperative one does it in the event loop, which then turns.
    slept = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw > sleeps
    return _Alone(answered_ns - started_ns, waited_ns, slept and loop.iteration == turns)


def _run_together(pairs: Sequence[tuple[LockClient, str]], settings: LoadSettings) -> list[tuple[int, int]]:
    """Start and end of each client's acquire, in order of their start."""
    go = Event()
    racers = [gevent.spawn(_acquire, client, key, settings, go) for client, key in pairs]
    go.set()
    return sorted(racer.get() for racer in racers)


def _acquire(client: LockClient, key: str, settings: LoadSettings, go: Event | None = None) -> tuple[int, int]:
    """Acquire and release once; the instants before and after the acquire, in monotonic ns."""
    if go is not None:
        go.wait()
    started_ns = monotonic_ns()
    answer = client.acquire(key, settings.ttl_ms, settings.timeout_ms, _TRY)
    answered_ns = monotonic_ns()
    if not isinstance(answer, Grant):
        raise ProbeFailed(f"the first acquire was refused: {answer.outcome}, {answer.reason}")
    if answer.ttl_ms != settings.ttl_ms:  # the record would name a lease that nobody had
        raise ProbeFailed(f"the servers made a lease of {answer.ttl_ms} ms of the {settings.ttl_ms} ms asked for")
    freed = client.release(answer)
    # A short lease may run out in a process that stood still: no fault of the servers, and none of the load.
    ran_out = monotonic_ns() - started_ns >= settings.ttl_ms * 1_000_000
    if isinstance(freed, Refusal) and not (freed.outcome == "lost" and ran_out):
        raise ProbeFailed(f"the first release was refused: {freed.outcome}, {freed.reason}")
    return started_ns, answered_ns
