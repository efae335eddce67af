"""An exception of a signal's handler at every instant of an acquire at which one can be raised, one after the other.

The interpreter looks for signals on entering a function and after a call into C: a profiler is called there as well.
"""

import sys
from types import FrameType

import pytest

from bench.conformance.interrupted import ended_by
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.memory import store
from bench.systems.memory.lock import MemoryLock
from bench.systems.wait import Wait

_LOOKS_FOR_SIGNALS = ("call", "c_return")
_INSTANTS_MAX = 500  # an acquire has far fewer: the end of a hang


class Struck(KeyboardInterrupt):
    """Ctrl-C, at an instant that the test chose."""


def _ask_and_strike(client: LockClient, key: str, wait: str, instant: int) -> tuple[Grant | Refusal | None, bool]:
    """The acquire's answer, None if it was ended; and whether there was such an instant."""
    left, acquiring = instant, LockClient.acquire.__code__

    def profile(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal left
        callers, within = frame, False
        while callers is not None and not within:
            if callers.f_code.co_filename == store.__file__:
                return  # it stands for a server
            within = callers.f_code is acquiring
            callers = callers.f_back  # type: ignore[assignment]
        if within and event in _LOOKS_FOR_SIGNALS:
            if left == 0:
                left = -1
                raise Struck
            left -= 1

    answer = None
    sys.setprofile(profile)
    try:
        answer = client.acquire(key, 60_000, 5, Wait.parse(wait))
    except BaseException as raised:
        if not ended_by(raised, Struck):
            raise
    finally:
        sys.setprofile(None)
    return answer, left < 0


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("wait", ["try", "poll-5ms", "block"])
def test_whenever_it_is_ended_nothing_is_left_and_the_client_works(wait: str, held: bool) -> None:
    endpoint = Endpoint(((f"interrupted-{wait}-{held}", 0),))
    client, other = MemoryLock.open(endpoint), MemoryLock.open(endpoint, ClientOptions())
    for instant in range(_INSTANTS_MAX):
        key = f"key {instant}"
        grant = other.acquire(key, 60_000, 0, Wait("try")) if held else None
        answer, struck = _ask_and_strike(client, key, wait, instant)
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
        if not struck:
            assert instant > 10, "an acquire has more instants than that"
            return
    pytest.fail(f"an acquire has more than {_INSTANTS_MAX} instants")
