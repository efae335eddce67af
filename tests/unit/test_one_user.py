"""A client belongs to one thread and one process, its owners are its own, and a loss that was told stays told."""

import itertools
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems import clock as clocks
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.clock import SystemClock
from bench.systems.memory.lock import MemoryLock
from bench.systems.sole_use import ClientMisuse
from bench.systems.wait import Wait
from tests.unit.test_contract import HandClock

TRY = Wait("try")
TTL_MS = 1_000
_STORES = itertools.count(90_000)

Use = Callable[[LockClient, Grant], object]
USES: dict[str, Use] = {
    "acquire": lambda client, _: client.acquire("another key", TTL_MS, 0, TRY),
    "renew": lambda client, grant: client.renew(grant),
    "release": lambda client, grant: client.release(grant),
    "server_facts": lambda client, _: client.server_facts(),
    "close": lambda client, _: client.close(),
}
use = pytest.mark.parametrize("use", USES.values(), ids=USES)


def place() -> Endpoint:
    """A store that no other test has."""
    return Endpoint((("in-process", next(_STORES)),))


class StuckLock(MemoryLock):
    """Its acquire of "stuck" ends when a test lets it."""

    def _connect(self) -> None:
        super()._connect()
        self.inside, self.let_go = threading.Event(), threading.Event()

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        if key == "stuck":
            self.inside.set()
            assert self.let_go.wait(30)
        return super()._acquire(key, ttl_ms, timeout_ms, wait)


def taken(client: LockClient, key: str = "k") -> Grant:
    grant = client.acquire(key, TTL_MS, 0, TRY)
    assert isinstance(grant, Grant)
    return grant


@use
def test_a_second_thread_is_refused_and_the_first_goes_on(use: Use) -> None:
    with StuckLock.open(place()) as client:
        grant = taken(client, "held")
        answers: list[object] = []
        first = threading.Thread(target=lambda: answers.append(client.acquire("stuck", TTL_MS, 0, TRY)))
        first.start()
        try:
            assert client.inside.wait(30)
            with pytest.raises(ClientMisuse, match="one client for each thread"):
                use(client, grant)
            assert client.lost(grant) is None  # the one question that any thread may ask
        finally:
            client.let_go.set()
            first.join()
        assert isinstance(answers[0], Grant)
        use(client, grant)  # and now it may
        for left in (grant, answers[0]):
            client.release(left) if use is not USES["close"] else None


@use
def test_a_forked_child_is_refused_and_the_parent_keeps_its_grant(use: Use) -> None:
    with MemoryLock.open(place()) as client:
        grant = taken(client, "of the parent")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                use(client, grant)
            except ClientMisuse as refused:
                code = 0 if "before a fork" in str(refused) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert isinstance(client.renew(grant), Grant)
        assert isinstance(client.release(grant), Released)


def test_a_call_that_raised_lets_the_next_one_in() -> None:
    class Raising(MemoryLock):
        def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
            raise KeyboardInterrupt

    with Raising.open(place()) as client:
        grant = taken(client)
        with pytest.raises(KeyboardInterrupt):
            client.renew(grant)
        assert isinstance(client.release(grant), Released)


def test_owners_differ_whatever_clients_are_called() -> None:
    clients = [MemoryLock.open(place(), ClientOptions(client="same")) for _ in range(50)]
    owners = [client._next_owner() for client in clients for _ in range(20)]
    assert len(set(owners)) == len(owners)
    assert all(owner.startswith("same-") for owner in owners)


# -- lost is final -----------------------------------------------------------------------------------------------------


class Scripted(MemoryLock):
    """An adapter that changes its mind: what it says next is a test's to set."""

    says: Any = None
    renewals: Any = None
    releases: Any = None

    def _lost(self, grant: Grant) -> str | None:
        told: str | None = self.says
        return told or super()._lost(grant)

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        return self.renewals or super()._renew(grant, ttl_ms)

    def _release(self, grant: Grant) -> Released | Refusal:
        return self.releases or super()._release(grant)


LOST = Refusal(Outcome.LOST, "the server said so")


def says_so_itself(client: Scripted, grant: Grant) -> None:
    client.says = "the session has ended"
    assert client.lost(grant)
    client.says = None


def renewal_says_so(client: Scripted, grant: Grant) -> None:
    client.renewals = LOST
    assert client.renew(grant) == LOST
    client.renewals = None


def release_says_so(client: Scripted, grant: Grant) -> None:
    client.releases = LOST
    assert client.release(grant) == LOST
    client.releases = None


def lease_ran_out(client: Scripted, grant: Grant) -> None:
    clock = client.clock
    assert isinstance(clock, HandClock)
    clock.now_ns += 2 * TTL_MS * 1_000_000
    assert client.lost(grant)
    clock.now_ns -= 2 * TTL_MS * 1_000_000  # no clock does that; whatever happens now, it was told


def released(client: Scripted, grant: Grant) -> None:
    assert isinstance(client.release(grant), Released)


ENDS = (says_so_itself, renewal_says_so, release_says_so, lease_ran_out, released)


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest.mark.parametrize("renewed_before", [False, True])
def test_what_was_told_stays_told(end: Callable[[Scripted, Grant], None], renewed_before: bool) -> None:
    with Scripted.open(place(), ClientOptions(clock=HandClock())) as client:
        first = taken(client)
        grant = client.renew(first) if renewed_before else first
        assert isinstance(grant, Grant)
        end(client, grant)
        for known in (grant, first, replace(grant)):
            assert client.lost(known)
            answer = client.renew(known)
            assert isinstance(answer, Refusal)
            assert answer.outcome is Outcome.LOST
            freed = client.release(known)
            assert isinstance(freed, Refusal)
            assert freed.outcome is Outcome.LOST
            assert client.lost(known)
        assert client.lost(taken(client)) is None  # what was left of it was freed, and a new grant is another


def test_every_renewal_of_a_grant_knows_its_newest_lease() -> None:
    clock = HandClock()
    with MemoryLock.open(place(), ClientOptions(clock=clock)) as client:
        first = taken(client)
        clock.now_ns += TTL_MS * 500_000
        second = client.renew(first)
        assert isinstance(second, Grant)
        clock.now_ns += TTL_MS * 600_000
        assert client.lost(first) is None  # its own deadline has passed, and the lock is held
        third = client.renew(second, TTL_MS // 10)
        assert isinstance(third, Grant)
        clock.now_ns += TTL_MS * 100_000
        assert client.lost(first)  # its lease is now the shorter one
        assert client.lost(third)


@pytest.mark.parametrize("ends", [Refusal(Outcome.UNKNOWN, "no reply"), Refusal(Outcome.ERROR, "refused"), OSError()])
def test_a_shorter_renewal_without_an_answer_may_have_been_carried_out(ends: Refusal | OSError) -> None:
    class Unsure(MemoryLock):
        def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
            super()._renew(grant, ttl_ms)
            if isinstance(ends, OSError):
                raise ends
            return ends

    clock = HandClock()
    with Unsure.open(place(), ClientOptions(clock=clock)) as client:
        grant = taken(client)
        with suppress(OSError):
            client.renew(grant, TTL_MS // 10)
        assert client.lost(grant) is None
        clock.now_ns += TTL_MS * 100_000
        assert client.lost(grant)


def test_a_loss_told_during_a_renewal_is_the_renewals_answer() -> None:
    class Slow(MemoryLock):
        def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
            answer = super()._renew(grant, ttl_ms)
            assert isinstance(self.clock, HandClock)
            self.clock.now_ns += ttl_ms * 1_000_000
            assert self.lost(grant)  # another thread asks
            return answer

    with Slow.open(place(), ClientOptions(clock=HandClock())) as client:
        answer = client.renew(taken(client))
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.LOST


# -- a suspended machine -----------------------------------------------------------------------------------------------


def test_the_clock_of_leases_counts_suspension(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the machine sleeps CLOCK_MONOTONIC stands still and CLOCK_BOOTTIME goes on: two clocks, set apart here."""
    slept_ns = 0
    real = time.clock_gettime_ns
    monkeypatch.setattr(
        time, "clock_gettime_ns", lambda which: real(which) + (slept_ns if which == time.CLOCK_BOOTTIME else 0)
    )
    assert clocks._COUNTS_SUSPENSION == time.CLOCK_BOOTTIME
    with MemoryLock.open(place(), ClientOptions(clock=SystemClock())) as client:
        grant = client.acquire("slept over", 60_000, 0, TRY)
        assert isinstance(grant, Grant)
        assert client.lost(grant) is None
        slept_ns = 61_000_000_000
        assert client.lost(grant)
