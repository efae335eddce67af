"""Real Redis servers in states in which they take no locks: an error with the server's own word, never unknown."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redlock.lock import RedlockLock
from bench.systems.wait import Wait
from tests.servers.one_redis import SPEC, OneRedis

pytestmark = pytest.mark.servers
OPTIONS = ClientOptions(ttl_ms=20_000, call_timeout_ms=2_000)

# Lines of redis.conf, what is said to the server once a lock is held (None: none can be), and what the client is told.
STATES: dict[str, tuple[str, list[tuple[str, ...]] | None, str]] = {
    "a replica": ("", [("REPLICAOF", "127.0.0.1", "1")], r"READONLY .*replica"),
    "a replica that is alone": (
        "replica-serve-stale-data no",
        [("REPLICAOF", "127.0.0.1", "1")],
        r"MASTERDOWN .*without a link to its primary|READONLY .*replica",
    ),
    "full": ("", [("CONFIG", "SET", "maxmemory", "1")], r"OOM .*reached maxmemory"),
    "too few replicas": ("", [("CONFIG", "SET", "min-replicas-to-write", "1")], r"NOREPLICAS .*min-replicas-to-write"),
    "a node of a cluster without slots": ("cluster-enabled yes", None, r"CLUSTERDOWN .*Redis Cluster"),
}
OPERATIONS: dict[str, Callable[[LockClient, Grant], Grant | Refusal | Released]] = {
    "acquire": lambda client, _: client.acquire("another key", 20_000, 0, Wait("try")),
    "renew": lambda client, grant: client.renew(grant),
    "release": lambda client, grant: client.release(grant),
}
# Redis itself takes these without room for more: nothing is added by them.
ALLOWED = {("full", "renew"), ("full", "release")}


@pytest.mark.parametrize(
    ("client_class", "state", "operation"),
    [cell for cell in itertools.product((RedisLock, RedlockLock), STATES, OPERATIONS) if cell[1:] not in ALLOWED],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_server_that_takes_no_locks(
    tmp_path: Path, client_class: type[LockClient], state: str, operation: str
) -> None:
    settings, orders, told = STATES[state]
    redis = OneRedis(tmp_path / "redis", settings)
    try:
        with client_class.open(SPEC.endpoint([redis.node]), OPTIONS) as client:
            held: Grant | Refusal = Grant("key", "me", 1, 20_000, client.clock.monotonic_ns() + 20_000_000_000)
            if orders is not None:
                held = client.acquire("key", 20_000, 0, Wait("try"))
            assert isinstance(held, Grant), held
            for order in orders or ():
                redis.say(*order)
            answer = OPERATIONS[operation](client, held)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.ERROR, answer
        assert re.search(told, answer.reason), answer
    finally:
        redis.kill()
