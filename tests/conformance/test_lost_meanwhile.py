"""`lost` may be asked from any thread, also while another call of the same client is under way."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bench.conformance.bounds import LONG_TTL_MS
from bench.conformance.harness import Harness
from bench.systems.base import Grant, Released
from bench.systems.registry import HEADLINE

RENEWALS = 300


@pytest.mark.servers
@pytest.mark.parametrize("name", HEADLINE)
def test_a_look_takes_no_answer_from_a_renewal(
    name: str, bench_of: Callable[[str], AbstractContextManager[Harness]]
) -> None:
    """A watchdog renews while another thread looks. (A look that reads from the connection could take its answer.)"""
    with bench_of(name) as bench:
        client = bench.open(ttl_ms=LONG_TTL_MS)
        newest = [bench.take(client, bench.new_key())]  # the lease of an older one runs out, whoever renews
        renewed, told = threading.Event(), list[str]()

        def look() -> None:
            while not renewed.is_set():
                if (why := client.lost(newest[-1])) is not None:
                    told.append(why)
                    return

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            for turn in range(RENEWALS):
                answer = client.renew(newest[-1])
                assert isinstance(answer, Grant), f"renewal {turn} said {answer}"
                newest.append(answer)
        finally:
            renewed.set()
            looking.join()
        assert told == []
        assert isinstance(client.release(newest[-1]), Released)
