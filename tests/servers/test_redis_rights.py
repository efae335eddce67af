"""A Redis user who lacks a right is told at connect which one; one who has the listed rights can lock and recover."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers.breaking.proxy import FaultProxy
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Refusal, Released
from bench.systems.redis.leftovers import leftovers
from bench.systems.redis.lock import RedisLock
from bench.systems.redlock.lock import RedlockLock
from bench.systems.wait import Wait
from tests.servers.one_redis import OneRedis

pytestmark = pytest.mark.servers
ROOT = Path(__file__).parents[2]
PASSWORD = "hunter2"
OPTIONS = ClientOptions(ttl_ms=5_000, call_timeout_ms=1_000)
TRY = Wait("try")
BOTH = ("info", "client|id", "client|kill", "get", "set", "pexpire", "del")
NEEDED: dict[type[LockClient], tuple[str, ...]] = {
    RedisLock: (*BOTH, "script|load", "evalsha", "incr"),
    RedlockLock: (*BOTH, "eval"),
}
CELLS = [(client_class, right) for client_class, rights in NEEDED.items() for right in rights]


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneRedis]:
    server = OneRedis(tmp_path_factory.mktemp("rights") / "redis")
    yield server
    server.kill()


def endpoint(redis: OneRedis, *rules: str) -> Endpoint:
    """The server, as a user with these rules."""
    redis.say("ACL", "SETUSER", "tester", "reset", "on", f">{PASSWORD}", *rules)
    return Endpoint((("127.0.0.1", redis.node.port),), {}, {"user": "tester", "password": PASSWORD})


@pytest.mark.parametrize(("client_class", "right"), CELLS, ids=lambda value: getattr(value, "__name__", value))
def test_a_missing_right_is_named_at_connect(redis: OneRedis, client_class: type[LockClient], right: str) -> None:
    lacking = endpoint(redis, "~*", "+@all", f"-{right}")
    with pytest.raises(ConnectionError, match=r"NOPERM") as told:
        client_class.open(lacking, OPTIONS)
    assert f"NOPERM for {right} (" in str(told.value)
    assert PASSWORD not in str(told.value)


@pytest.mark.parametrize("client_class", NEEDED, ids=lambda value: value.__name__)
def test_missing_keys_are_named_at_connect(redis: OneRedis, client_class: type[LockClient]) -> None:
    with pytest.raises(ConnectionError, match=r"NOPERM for ~lockbench:\*"):
        client_class.open(endpoint(redis, "~other:*", "+@all"), OPTIONS)


@pytest.mark.parametrize("client_class", NEEDED, ids=lambda value: value.__name__)
def test_all_that_is_missing_is_named_at_once(redis: OneRedis, client_class: type[LockClient]) -> None:
    with pytest.raises(ConnectionError, match=r"NOPERM for client\|kill, pexpire, del \("):
        client_class.open(endpoint(redis, "~*", "+@all", "-client|kill", "-del", "-pexpire"), OPTIONS)


@pytest.mark.parametrize("client_class", NEEDED, ids=lambda value: value.__name__)
def test_the_listed_rights_are_enough_to_lock_and_to_recover(redis: OneRedis, client_class: type[LockClient]) -> None:
    rights = [f"+{right}" for right in NEEDED[client_class]]
    with FaultProxy(("127.0.0.1", redis.node.port)) as proxy:
        through = endpoint(redis, "~lockbench:*", *rights).at((proxy.address,))
        with client_class.open(through, OPTIONS) as client:
            for turn in range(3):
                proxy.swallow_reply(then_sever=True)
                struck = client.acquire("key", 5_000, 0, TRY)
                assert isinstance(struck, Refusal), struck
                grant = client.acquire("key", 5_000, 2_000, Wait.parse("poll-5ms"))
                assert isinstance(grant, Grant), f"after {turn + 1} lost replies: {grant}"
                assert isinstance(client.renew(grant), Grant)
                assert isinstance(client.release(grant), Released)


TO_BE_WOKEN = {
    "pubsub": "&lockbench:* +subscribe +unsubscribe +publish",
    "blpop": "+blpop +llen +rpush",
    "queue": "&lockbench:* +subscribe +unsubscribe +publish +time +zadd +zrem +zremrangebyscore +zrange +zscore +pttl",
}


def waiters(redis: OneRedis, strategy: str, *without: str) -> tuple[Endpoint, Wait]:
    """A user with the listed rights for a way of waiting, less some; and the wait, which rarely looks by itself."""
    rights = [f"+{right}" for right in NEEDED[RedisLock]] + TO_BE_WOKEN[strategy].split()
    rules = ["~lockbench:*", *(right for right in rights if right not in without)]
    return endpoint(redis, "resetchannels", *rules), Wait.parse(f"{strategy}-1000ms")


@pytest.mark.parametrize("strategy", TO_BE_WOKEN)
def test_the_listed_rights_are_enough_to_be_woken(redis: OneRedis, strategy: str) -> None:
    reached, wait = waiters(redis, strategy)
    with RedisLock.open(reached, OPTIONS) as holder, RedisLock.open(reached, OPTIONS) as waiter:
        grant = holder.acquire(strategy, 5_000, 0, wait)
        assert isinstance(grant, Grant), grant
        timed_out = waiter.acquire(strategy, 5_000, 20, wait)
        assert isinstance(timed_out, Refusal)
        assert timed_out.outcome == "timeout", timed_out
        releasing = threading.Timer(0.1, holder.release, (grant,))
        releasing.start()
        asked_ns = waiter.clock.monotonic_ns()
        assert isinstance(waiter.acquire(strategy, 5_000, 3_000, wait), Grant)
        assert waiter.clock.monotonic_ns() - asked_ns < 900_000_000, "not woken: it looked by itself"
        releasing.join()


@pytest.mark.parametrize(
    ("strategy", "right"), [("pubsub", "+subscribe"), ("blpop", "+blpop"), ("queue", "+zadd"), ("queue", "+subscribe")]
)
def test_a_waiter_without_the_right_is_told_and_leaves_nothing(redis: OneRedis, strategy: str, right: str) -> None:
    reached, wait = waiters(redis, strategy, right)
    with RedisLock.open(reached, OPTIONS) as holder, RedisLock.open(reached, OPTIONS) as waiter:
        grant = holder.acquire("held", 5_000, 0, TRY)
        assert isinstance(grant, Grant), grant
        answer = waiter.acquire("held", 5_000, 2_000, wait)
        assert isinstance(answer, Refusal)
        assert answer.outcome == "error", answer
        assert "NOPERM" in answer.reason or "can't run this command" in answer.reason, answer
        assert len(leftovers(Endpoint((("127.0.0.1", redis.node.port),)), "held")) == 1, "more than the holder's key"
        holder.release(grant)


@pytest.mark.parametrize(("strategy", "right"), [("pubsub", "+publish"), ("blpop", "+rpush"), ("queue", "+publish")])
def test_a_wake_up_that_is_refused_makes_no_error_of_a_release(redis: OneRedis, strategy: str, right: str) -> None:
    reached, wait = waiters(redis, strategy, right)
    with RedisLock.open(reached, OPTIONS) as client:
        for _ in range(2):
            grant = client.acquire("woken", 5_000, 0, wait)
            assert isinstance(grant, Grant), grant
            assert isinstance(client.release(grant), Released)


def test_the_readme_lists_the_rights_to_be_woken() -> None:
    text = (ROOT / "bench/systems/redis/README.md").read_text(encoding="utf-8")
    for strategy, rights in TO_BE_WOKEN.items():
        assert re.search(rf"^    {re.escape(rights)} +for {strategy}$", text, re.MULTILINE), strategy


@pytest.mark.parametrize(("folder", "client_class"), [("redis", RedisLock), ("redlock", RedlockLock)])
def test_the_readme_lists_the_rights(folder: str, client_class: type[LockClient]) -> None:
    text = (ROOT / "bench/systems" / folder / "README.md").read_text(encoding="utf-8")
    assert "~lockbench:* " + " ".join(f"+{right}" for right in NEEDED[client_class]) in text


def test_a_right_that_is_taken_away_later_is_an_error(redis: OneRedis) -> None:
    """After the lost reply the old connection cannot be ended: nothing may be sent, and the server's word says why."""
    allowed = endpoint(redis, "~*", "+@all")
    with (
        FaultProxy(("127.0.0.1", redis.node.port)) as proxy,
        RedisLock.open(allowed.at((proxy.address,)), OPTIONS) as client,
    ):
        redis.say("ACL", "SETUSER", "tester", "-client|kill")
        proxy.swallow_reply(then_sever=True)
        client.acquire("key", 5_000, 0, TRY)
        answer = client.acquire("key", 5_000, 0, TRY)
        assert isinstance(answer, Refusal)
        assert answer.outcome == "error"
        assert "NOPERM for client|kill" in answer.reason
        redis.say("ACL", "SETUSER", "tester", "+client|kill")
        assert isinstance(client.acquire("another key", 5_000, 0, TRY), Grant)
