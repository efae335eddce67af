"""What a Redis server refuses is an `error`, never unknown, in its own word and with the cause, at every operation."""

import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.variants import NaiveFenceRedisLock, PlainDeleteRedisLock
from bench.systems.redlock.lock import RedlockLock
from bench.systems.wait import Wait
from tests.unit.redis_scripted import INFO, ScriptedRedis, error

TTL_MS = 2_000
# As the servers of 6.2 to 8 word them, and what a reader without Redis' manual is told.
REFUSALS = {
    "NOPERM User x has no permissions to run the 'evalsha' command": "lacks the right",
    "NOPERM this user has no permissions to access one of the keys used as arguments": "lacks the right",
    "NOAUTH Authentication required.": "wants a password",
    "WRONGPASS invalid username-password pair or user is disabled.": "do not match",
    "DENIED Redis is running in protected mode because protected mode is enabled": "protected mode",
    "MOVED 3999 127.0.0.1:6381": "Redis Cluster",
    "ASK 3999 127.0.0.1:6381": "Redis Cluster",
    "CROSSSLOT Keys in request don't hash to the same slot": "Redis Cluster",
    "CLUSTERDOWN Hash slot not served": "Redis Cluster",
    "TRYAGAIN Multiple keys request during rehashing of slot": "Redis Cluster",
    "READONLY You can't write against a read only replica.": "replica",
    "READONLY You can't write against a read only replica. script: 0, on @user_script:1.": "replica",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": "replica",
    "NOREPLICAS Not enough good replicas to write.": "replicas",
    "LOADING Redis is loading the dataset in memory": "loading",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": "occupies",
    "OOM command not allowed when used memory > 'maxmemory'.": "maxmemory",
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.": "save",
    "WRONGTYPE Operation against a key holding the wrong kind of value": "another program",
    "ERR max number of clients reached": "max number of clients",
    "ERR unknown command 'EVALSHA', with args beginning with: ": "unknown command",
    "ERR value is not an integer or out of range": "not an integer",
    "UNHEARDOF of": "UNHEARDOF",
}
CLIENTS: dict[str, tuple[type[LockClient], int]] = {
    "redis": (RedisLock, 1),
    "redis-naive-fence": (NaiveFenceRedisLock, 1),
    "redis-plain-delete": (PlainDeleteRedisLock, 1),
    "redlock": (RedlockLock, 5),
}


def grant_of(client: LockClient) -> Grant:
    return Grant("k", "me", 1, TTL_MS, client.clock.monotonic_ns() + TTL_MS * 1_000_000)


OPERATIONS: dict[str, Callable[[LockClient], Grant | Refusal | Released]] = {
    "acquire": lambda client: client.acquire("k", TTL_MS, 0, Wait("try")),
    "acquire, polling": lambda client: client.acquire("k", TTL_MS, 50, Wait.parse("poll-5ms")),
    "renew": lambda client: client.renew(grant_of(client)),
    "release": lambda client: client.release(grant_of(client)),
}


@pytest.mark.parametrize(("name", "operation", "text"), list(itertools.product(CLIENTS, OPERATIONS, REFUSALS)))
def test_a_refusal_is_an_error_in_the_servers_own_word(name: str, operation: str, text: str) -> None:
    client_class, count = CLIENTS[name]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ScriptedRedis(lambda _: error(text), {**INFO, "run_id": f"{number:040d}"}))
            for number in range(count)
        ]
        endpoint = Endpoint(tuple(server.address for server in servers))
        client = stack.enter_context(client_class.open(endpoint, ClientOptions(call_timeout_ms=2_000)))
        began = time.monotonic()
        answer = OPERATIONS[operation](client)
        assert time.monotonic() - began < 1.5, "a server that answers was waited for"
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.ERROR
    assert text.split()[0] in answer.reason
    assert REFUSALS[text] in answer.reason


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_at_the_greeting_names_the_server_and_the_cause(text: str) -> None:
    with ScriptedRedis(lambda _: error(text)) as server:
        server._reply = lambda _: error(text)  # type: ignore[method-assign]
        for client_class in (RedisLock, RedlockLock):
            with pytest.raises(ConnectionError) as told:
                client_class.open(Endpoint((server.address,)), ClientOptions(call_timeout_ms=10_000))
            assert f"{server.address[1]}" in str(told.value)
            assert text.split()[0] in str(told.value)
