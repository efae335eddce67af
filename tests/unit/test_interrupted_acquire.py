"""An exception of a signal's handler at every instant of an acquire at which one can be raised, one after the other.

The interpreter looks for signals on entering a function and after a call into C: a profiler is called there as well.
"""

from functools import partial

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.memory import store
from bench.systems.memory.lock import MemoryLock
from bench.systems.wait import Wait
from tests.striking import strike

_INSTANTS_MAX = 500  # an acquire has far fewer: the end of a hang


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("wait", ["try", "poll-5ms", "block"])
def test_whenever_it_is_ended_nothing_is_left_and_the_client_works(wait: str, held: bool) -> None:
    endpoint = Endpoint(((f"interrupted-{wait}-{held}", 0),))
    client, other = MemoryLock.open(endpoint), MemoryLock.open(endpoint, ClientOptions())
    for instant in range(_INSTANTS_MAX):
        key = f"key {instant}"
        grant = other.acquire(key, 60_000, 0, Wait("try")) if held else None
        ended = strike(partial(client.acquire, key, 60_000, 5, Wait.parse(wait)), LockClient.acquire.__code__, instant)
        answer = ended.answer
        if isinstance(answer, Grant):
            assert not held
            assert isinstance(client.release(answer), Released)
        elif isinstance(answer, Refusal):
            assert held
            assert answer.outcome in (Outcome.BUSY, Outcome.TIMEOUT)
        if grant is not None:
            assert isinstance(grant, Grant)
            assert isinstance(other.release(grant), Released), f"instant {instant}"
        left = store.store_at(endpoint).entries(key, client.clock.monotonic_ns())
        assert left == [], f"ended at instant {instant}"
        again = client.acquire(key, 60_000, 0, Wait("try"))
        assert isinstance(again, Grant), f"ended at instant {instant}: {again}"
        assert isinstance(client.release(again), Released), f"ended at instant {instant}"
        if not ended.struck:
            assert instant > 10, "an acquire has more instants than that"
            return
    pytest.fail(f"an acquire has more than {_INSTANTS_MAX} instants")
