"""Redis' waiters that are woken, by the suite's checks of a system's default way of waiting, and by what they leave.

Their interval is so long here that whoever misses a wake-up fails the check.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from bench.conformance.bounds import AT_ONCE_MS, BAD_WIRE_CALL_MS, PATIENCE_MS
from bench.conformance.catalogue import CHECKS
from bench.conformance.harness import Harness, eventually, let_pass, now_ms
from bench.conformance.together import Running
from bench.systems.base import Grant, Outcome, Refusal, Released
from bench.systems.redis.scripts import bulk, command
from bench.systems.redis.wire import ask
from bench.systems.redis.woken import LOAD_SCRIPTS, WAITERS, scripts
from bench.systems.redis.woken.queue import PLACE_INTERVALS
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.conformance.conftest import Servers

pytestmark = pytest.mark.servers
REDIS = SYSTEMS["redis"]
INTERVAL_MS = 4 * AT_ONCE_MS
OF_THE_DEFAULT = (
    "handoffs_are_prompt",
    "waiters_all_wake",
    "severed_wait_ends_and_leaves_nothing",
    "silent_wait_ends_and_leaves_nothing",
    "eight_contenders_all_get_it",
)


@pytest.fixture(params=WAITERS)
def bench(request: pytest.FixtureRequest, servers: Servers) -> Iterator[Harness]:
    system = replace(REDIS, default_wait=f"{request.param}-{INTERVAL_MS}ms")
    with Harness(system, servers.endpoint(REDIS)) as harness:
        yield harness


@pytest.mark.parametrize("check", OF_THE_DEFAULT)
def test_woken_waiters_pass(bench: Harness, check: str) -> None:
    CHECKS[check](bench)


def test_nothing_stays_once_all_have_left(bench: Harness) -> None:
    """No key, list or sorted set, and no subscription, for longer than an interval."""
    wait = replace(bench.wait, interval_ms=200.0)
    key, clients = bench.new_key(), [bench.open() for _ in range(5)]
    grant = bench.take(clients[0], key, wait=wait)

    def pass_through(place: int) -> None:
        clients[place].release(bench.take(clients[place], key, wait=wait))

    passing = [Running(partial(pass_through, place)) for place in range(1, 5)]
    let_pass(50)
    clients[0].release(grant)
    for started in passing:
        started.result(PATIENCE_MS)
    eventually(lambda: not bench.entries(key), 3 * 200 + AT_ONCE_MS, f"{wait} left {bench.entries(key)}")


def test_who_waits_by_another_strategy_is_granted_after_a_look_of_its_own(bench: Harness) -> None:
    holder, waiter, key = bench.open(), bench.open(), bench.new_key()
    grant = bench.take(holder, key, wait=Wait.parse("poll-5ms"))
    waiting = Running(lambda: bench.take(waiter, key, wait=replace(bench.wait, interval_ms=200.0)))
    let_pass(50)
    freed_ms = now_ms()
    assert isinstance(holder.release(grant), Released)
    assert isinstance(waiting.result(PATIENCE_MS), Grant)
    assert now_ms() - freed_ms < 200 + AT_ONCE_MS


def test_a_renewed_grant_wakes_at_its_release(bench: Harness) -> None:
    holder, waiter, key = bench.open(), bench.open(), bench.new_key()
    grant = bench.take(holder, key)
    waiting = Running(lambda: bench.take(waiter, key))
    let_pass(50)
    renewed = holder.renew(grant)
    assert isinstance(renewed, Grant)
    freed_ms = now_ms()
    assert isinstance(holder.release(renewed), Released)
    waiting.result(PATIENCE_MS)
    assert now_ms() - freed_ms < AT_ONCE_MS, "a renewal forgot how its grant was acquired"


def test_a_timed_out_wait_says_so_and_the_client_waits_again(bench: Harness) -> None:
    holder, waiter, key = bench.open(), bench.open(), bench.new_key()
    grant = bench.take(holder, key)
    for _ in range(3):
        answer = bench.ask(waiter, key, 20, bench.wait)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.TIMEOUT
    waiting = Running(lambda: bench.take(waiter, key))
    let_pass(50)
    holder.release(grant)
    assert isinstance(waiting.result(AT_ONCE_MS), Grant)


QUEUE = Wait.parse("queue-200ms")


@pytest.fixture
def line(servers: Servers) -> Iterator[Harness]:
    with Harness(replace(REDIS, default_wait=str(QUEUE)), servers.endpoint(REDIS)) as harness:
        yield harness


def _places(bench: Harness, key: str) -> int:
    return sum("}:places " in entry for entry in bench.entries(key))


def test_a_line_is_served_in_order(line: Harness) -> None:
    key, clients = line.new_key(), [line.open() for _ in range(5)]
    grant, served = line.take(clients[0], key), list[int]()

    def stand(place: int) -> None:
        mine = line.take(clients[place], key)
        served.append(place)
        clients[place].release(mine)

    standing = []
    for place in range(1, 5):
        standing.append(Running(partial(stand, place)))
        eventually(lambda place=place: _places(line, key) == place, PATIENCE_MS, "no place")  # type: ignore[misc]
    let_pass(4 * QUEUE.interval_ms)  # longer than a place is kept unless its waiter looks
    newcomer = line.ask(line.open(), key, 0, QUEUE)
    assert isinstance(newcomer, Refusal)
    assert newcomer.outcome is Outcome.TIMEOUT
    clients[0].release(grant)
    for started in standing:
        started.result(PATIENCE_MS)
    assert served == [1, 2, 3, 4]


def test_a_dead_waiter_is_passed_over_when_its_place_is_over(line: Harness) -> None:
    key, holder, dead, waiter = line.new_key(), line.open(), line.spawn(ttl_ms=10_000), line.open()
    grant = line.take(holder, key)
    dead.send("acquire", key=key, timeout_ms=PATIENCE_MS)
    eventually(lambda: _places(line, key) == 1, PATIENCE_MS, "no place")
    waiting = Running(lambda: (line.take(waiter, key), now_ms()))
    eventually(lambda: _places(line, key) == 2, PATIENCE_MS, "no second place")
    dead.kill()
    freed_ms = now_ms()
    holder.release(grant)
    _, got_ms = waiting.result(PATIENCE_MS)
    assert got_ms - freed_ms < (PLACE_INTERVALS + 1) * QUEUE.interval_ms + AT_ONCE_MS


def test_who_leaves_the_line_does_not_hold_it_up(line: Harness) -> None:
    """The first times out, and the second is woken by the release, not by a look of its own."""
    slow = Wait.parse(f"queue-{INTERVAL_MS}ms")
    key, holder, first, second = line.new_key(), line.open(), line.open(), line.open()
    grant = line.take(holder, key, wait=slow)
    leaving = Running(lambda: line.ask(first, key, 200, slow))
    eventually(lambda: _places(line, key) == 1, PATIENCE_MS, "no place")
    waiting = Running(lambda: line.take(second, key, wait=slow))
    answer = leaving.result(PATIENCE_MS)
    assert isinstance(answer, Refusal)
    eventually(lambda: _places(line, key) == 1, PATIENCE_MS, "who timed out kept its place")
    holder.release(grant)
    waiting.result(AT_ONCE_MS)


@pytest.mark.parametrize("then_sever", [True, False])
def test_a_lost_reply_is_settled(bench: Harness, then_sever: bool) -> None:
    """Whatever the script did that nobody was told of, key or place, is undone, and the next waiter is granted."""
    for held in (False, True):
        wire, key, holder = bench.wire(), bench.new_key(), bench.open()
        waiter = bench.open(via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
        grant = bench.take(holder, key) if held else None
        bench.ask(waiter, bench.new_key(), 0, bench.wait)  # the script is there
        wire.swallow_reply(then_sever=then_sever)
        answer = bench.ask(waiter, key, AT_ONCE_MS, bench.wait)
        wire.restore()
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.ERROR, answer
        assert len(bench.entries(key)) <= 1, f"more than a lock or a wake-up is left: {bench.entries(key)}"
        if grant:
            assert isinstance(holder.release(grant), Released)
        bench.take(holder, key, AT_ONCE_MS)


def test_a_wake_up_stands_for_a_free_key(line: Harness) -> None:
    """One at most, never while the key is held, and not for longer than an interval: also of a waiter that passes on
    the wake-up that it took and could not use."""
    key, interval_ms = line.new_key(), 300
    name, free = scripts.wake_ups(key), scripts.begin_free_and_push(key, interval_ms)
    take = scripts.begin_take_and_call_off(key, 10_000)
    host, port = line.endpoint.addresses[0]

    def said(packed: bytes, *then: bytes) -> object:
        return ask(host, port, *LOAD_SCRIPTS, packed, *then)[-1]

    length = command("LLEN", name)
    assert said(take + bulk("me")) == 1
    assert said(free + bulk("a waiter"), length) == 0, "the key is held"
    assert said(free + bulk("me"), length) == 1
    assert said(free + bulk("a waiter"), length) == 1, "passed on, and still one"
    left_ms = said(command("PTTL", name))
    assert isinstance(left_ms, int)
    assert 0 < left_ms <= interval_ms
    assert said(take + bulk("another"), length) == 0, "who takes the key takes it along"


def test_places_that_nobody_keeps_are_passed_over_and_vanish(line: Harness) -> None:
    """Also one whose keeping was lost: nothing in line may hold up a free key for ever."""
    key = line.new_key()
    host, port = line.endpoint.addresses[0]

    def take(owner: str, kept_ms: int) -> object:
        return ask(host, port, *LOAD_SCRIPTS, scripts.begin_take_in_turn(key, 10_000, kept_ms) + bulk(owner))[-1]

    def leave(owner: str) -> object:
        return ask(host, port, *LOAD_SCRIPTS, scripts.begin_leave_line(key) + bulk(owner))[-1]

    assert take("holder", 10_000) == 1
    assert [take(owner, kept_ms) for owner, kept_ms in (("a", 200), ("b", 10_000), ("c", 10_000))] == [0, 0, 0]
    assert leave("holder") == 1
    assert take("b", 10_000) == 0, "a stands before it"
    eventually(lambda: take("b", 10_000) == 2, AT_ONCE_MS, "a kept a place that was over")
    assert leave("b") == 1
    ask(host, port, command("DEL", scripts.beside(key, "places")))
    assert take("d", 0) == 3, "nobody keeps c's place"
    assert leave("d") == 1
    assert take("e", 0) == 4
    leave("e")
    assert not line.entries(key)
