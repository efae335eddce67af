"""`null` is no lock, and the suite says so; and it costs next to nothing, which is what it is for."""

import statistics
import time

import pytest

from bench.conformance.catalogue import CHECKS
from bench.conformance.harness import TRY, Harness
from bench.servers.endpoint import Endpoint
from bench.systems.null.lock import NullLock
from bench.systems.registry import SYSTEMS


@pytest.mark.parametrize(
    "check",
    ["threads_exclude_each_other", "try_on_a_held_key_is_busy_at_once", "stale_grant_changes_nothing", "odd_keys_work"],
)
def test_null_is_no_lock(check: str) -> None:
    with Harness(SYSTEMS["null"], Endpoint(())) as bench, pytest.raises(AssertionError):
        CHECKS[check](bench)


def test_null_costs_next_to_nothing() -> None:
    with NullLock.open(Endpoint(())) as client:
        took_ns = []
        for _ in range(5_000):
            began_ns = time.perf_counter_ns()
            client.release(client.acquire("k", 1_000, 0, TRY))  # type: ignore[arg-type]
            took_ns.append(time.perf_counter_ns() - began_ns)
    # Below one round trip of loopback TCP on any machine: the floor must not hide in what it is the floor of.
    assert statistics.median(took_ns) < 30_000
