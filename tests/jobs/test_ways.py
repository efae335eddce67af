"""Every way does its job on a real database: nothing is overwritten, nothing takes effect twice, except by design."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from bench.jobs.lock_and_fence import LockAndFence
from bench.jobs.records import Found, audit_and_drop, make
from bench.jobs.way import Done, Way, Work
from bench.jobs.ways import WAYS
from bench.servers.endpoint import Endpoint
from bench.systems.base import RELEASED, Grant, Outcome, Refusal, Released
from bench.systems.wait import Wait

CLIENTS, JOBS = 4, 12
GUARDED = [name for name in WAYS if name != "unguarded"]
SPACES = itertools.count(1)


class Mutex:
    """A lock with a token, within this process."""

    def __init__(self) -> None:
        self._lock, self._tokens = threading.Lock(), itertools.count(1)

    def acquire(self, record: int) -> Grant | Refusal:
        self._lock.acquire()
        return Grant(str(record), "me", next(self._tokens), 1_000, None)

    def use_up(self, tokens: int) -> None:
        for _ in range(tokens):
            next(self._tokens)

    def release(self, grant: Grant) -> Released | Refusal:
        self._lock.release()
        return RELEASED


def opened(way: str, workload: str, endpoint: Endpoint, schema: str, mutex: Mutex, wait: str = "try") -> Way:
    kind = WAYS[way]
    common = (endpoint, schema, Work(workload, 0.001, time.sleep), Wait.parse(wait), 5_000)
    if issubclass(kind, LockAndFence):
        return kind(*common, acquire=mutex.acquire, release=mutex.release)
    return kind(*common)


def done_by(way: str, workload: str, endpoint: Endpoint, wait: str = "try") -> tuple[Found, list[Done | Refusal]]:
    """Several clients, each on a thread: all update record 0, or each of them consumes every message."""
    schema, mutex = f"lockbench_test_{next(SPACES)}", Mutex()
    make(endpoint, schema, JOBS)
    with ExitStack() as stack:
        ways = [
            stack.enter_context(closing(opened(way, workload, endpoint, schema, mutex, wait))) for _ in range(CLIENTS)
        ]

        def work(one: Way) -> list[Done | Refusal]:
            return [one.run(job if workload == "consume" else 0) for job in range(JOBS)]

        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = [answer for each in pool.map(work, ways) for answer in each]
    return audit_and_drop(endpoint, schema), answers


@pytest.mark.parametrize("way", [name for name in GUARDED if "update" in WAYS[name].workloads])
def test_no_update_is_lost(endpoint: Endpoint, way: str) -> None:
    found, answers = done_by(way, "update", endpoint)
    assert all(isinstance(answer, Done) for answer in answers)
    assert (found.writes, found.overwritten) == (CLIENTS * JOBS, 0)


@pytest.mark.parametrize("way", GUARDED)
def test_each_message_takes_effect_once(endpoint: Endpoint, way: str) -> None:
    found, answers = done_by(way, "consume", endpoint)
    assert all(isinstance(answer, Done) for answer in answers)
    assert (found.writes, found.written_records, found.repeated) == (JOBS, JOBS, 0)


def test_without_a_guard_updates_are_lost_and_the_table_says_so(endpoint: Endpoint) -> None:
    found, answers = done_by("unguarded", "update", endpoint)
    assert all(isinstance(answer, Done) for answer in answers)
    assert found.overwritten > 0


def test_without_a_guard_messages_take_effect_twice_and_the_table_says_so(endpoint: Endpoint) -> None:
    found, _ = done_by("unguarded", "consume", endpoint)
    assert found.repeated > 0


@pytest.mark.parametrize("wait", ["try", "backoff-1ms-4ms-full"])
def test_optimism_counts_what_it_did_in_vain(endpoint: Endpoint, wait: str) -> None:
    found, answers = done_by("version", "update", endpoint, wait)
    assert sum(answer.retries for answer in answers if isinstance(answer, Done)) > 0
    assert found.overwritten == 0


def test_the_fence_refuses_who_comes_with_an_older_token(endpoint: Endpoint) -> None:
    """The first holder stands still in its computing; its lock becomes another's, who shows its token and writes."""
    schema, mutex = f"lockbench_test_{next(SPACES)}", Mutex()
    make(endpoint, schema, 1)
    with ExitStack() as stack:

        def late_lock(record: int) -> Grant | Refusal:
            return Grant(str(record), "late", 1, 1_000, None)

        def other_comes(seconds: float) -> None:
            later.run(0)

        def not_mine(grant: Grant) -> Released | Refusal:
            return Refusal(Outcome.LOST, "it is another's")

        mutex.use_up(1)
        later = stack.enter_context(closing(opened("lock", "update", endpoint, schema, mutex)))
        work = Work("update", 0.001, other_comes)
        first = LockAndFence(endpoint, schema, work, Wait.parse("try"), 5_000, acquire=late_lock, release=not_mine)
        answer = stack.enter_context(closing(first)).run(0)
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.LOST
    assert audit_and_drop(endpoint, schema) == Found(1, 0, 1, 0)


def test_a_wait_for_the_row_ends_in_time(endpoint: Endpoint) -> None:
    schema = f"lockbench_test_{next(SPACES)}"
    make(endpoint, schema, 1)
    holding, kind = WAYS["for-update"], Work("update", 0.0, time.sleep)
    with closing(holding(endpoint, schema, kind, Wait.parse("block"), 5_000)) as holder:
        holder.ask(("begin",), ("read", 0))
        with closing(holding(endpoint, schema, kind, Wait.parse("block"), 100)) as waiter:
            answer = waiter.run(0)
            assert isinstance(answer, Refusal)
            assert answer.outcome is Outcome.TIMEOUT
            holder.ask(("rollback",))
            assert isinstance(waiter.run(0), Done)
    audit_and_drop(endpoint, schema)
