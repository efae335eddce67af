"""A Redis user who lacks a right is told at connect which one; one who has the listed rights can lock and recover."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.servers.breaking.proxy import FaultProxy
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Refusal, Released
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
