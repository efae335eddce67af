"""A lock that a replica has: what is there when a grant is answered, and what is said where no replica answers."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.redis.leftovers import leftovers
from bench.systems.redis_replicated.lock import ReplicatedRedisLock
from bench.systems.redis_replicated.server import PairServers
from bench.systems.wait import Wait

pytestmark = pytest.mark.servers
TRY = Wait("try")
TTL_MS = 10_000
PAIR = PairServers()
PRIMARY, REPLICA = PAIR.node_names


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    own = Supervisor(tmp_path_factory.mktemp("pair"))
    own.up([PAIR])
    yield own
    own.down([PAIR])


@pytest.fixture
def endpoint(supervisor: Supervisor) -> Endpoint:
    return supervisor.endpoint(PAIR)


@pytest.fixture
def at_replica(supervisor: Supervisor) -> Iterator["redis.Redis"]:
    (port,) = [state.node.port for state in supervisor.running(PAIR).nodes if state.node.name == REPLICA]
    with redis.Redis("127.0.0.1", port, decode_responses=True, socket_timeout=5.0) as found:
        yield found


@contextmanager
def without_replica(supervisor: Supervisor) -> Iterator[None]:
    """It is stopped, so its connection stands and nothing is acknowledged; afterwards it is in step again."""
    pid = supervisor.running(PAIR).pids[REPLICA]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        supervisor.up([PAIR])


def opened(endpoint: Endpoint, call_timeout_ms: int = 2_000) -> LockClient:
    return ReplicatedRedisLock.open(endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=call_timeout_ms))


def granted(client: LockClient, key: str) -> Grant:
    answer = client.acquire(key, TTL_MS, 0, TRY)
    assert isinstance(answer, Grant), answer
    return answer


def owner_at(replica: "redis.Redis", key: str) -> str | None:
    found = replica.get(f"lockbench:{{{key}}}:lock")
    assert found is None or isinstance(found, str)
    return found


def test_the_replica_has_each_grant_and_each_release_once_it_is_answered(
    endpoint: Endpoint, at_replica: "redis.Redis"
) -> None:
    with opened(endpoint) as client:
        for turn in range(300):
            grant = granted(client, "kept")
            assert owner_at(at_replica, "kept") == grant.owner, turn
            assert at_replica.get("lockbench:{kept}:fence") == str(grant.token)
            assert isinstance(client.release(grant), Released)
            assert owner_at(at_replica, "kept") is None, turn


def test_a_renewal_is_at_the_replica_too(endpoint: Endpoint, at_replica: "redis.Redis") -> None:
    with opened(endpoint) as client:
        grant = granted(client, "renewed")
        assert isinstance(client.renew(grant, 8 * TTL_MS), Grant)
        assert int(str(at_replica.pttl("lockbench:{renewed}:lock"))) > 7 * TTL_MS


def test_no_lock_is_granted_that_no_replica_has(supervisor: Supervisor, endpoint: Endpoint) -> None:
    with opened(endpoint) as client, opened(endpoint) as other:
        held = granted(client, "held")
        with without_replica(supervisor):
            refused = client.acquire("free", TTL_MS, 0, TRY)
            assert isinstance(refused, Refusal)
            assert (refused.outcome, refused.reason) == (
                Outcome.ERROR,
                "no replica has acknowledged it within 250 ms; nothing of ours is left",
            )
            assert not leftovers(endpoint, "free")
            busy = other.acquire("held", TTL_MS, 0, TRY)
            assert isinstance(busy, Refusal), "who finds a key taken writes nothing, so there is nothing to wait for"
            assert busy.outcome is Outcome.BUSY
            renewed = client.renew(held, 8 * TTL_MS)
            assert isinstance(renewed, Refusal)
            assert renewed.outcome is Outcome.ERROR
            assert "the old lease stands until its deadline" in renewed.reason
            assert client.lost(held) is None
            assert isinstance(client.release(held), Released), "free at the primary, which decides"
        granted(other, "held")
        granted(client, "free")


def test_a_reply_that_comes_late_is_not_taken_for_the_next_one(supervisor: Supervisor, endpoint: Endpoint) -> None:
    """WAIT waits for as long as a call may take before it is doubted, so both replies may be on the way at an end."""
    with opened(endpoint, call_timeout_ms=200) as client:
        with without_replica(supervisor):
            for _ in range(5):
                assert isinstance(client.acquire("late", TTL_MS, 0, TRY), Refusal)
        deadline = time.monotonic() + 20.0
        while isinstance(answer := client.acquire("late", TTL_MS, 0, TRY), Refusal):
            assert time.monotonic() < deadline, answer
        tokens = [answer.token]
        for _ in range(20):
            assert isinstance(client.release(answer), Released)
            answer = granted(client, "late")
            tokens.append(answer.token)
        assert tokens == sorted(set(tokens), key=tokens.index) == list(range(tokens[0] or 0, (tokens[0] or 0) + 21))


def test_a_user_who_may_not_wait_is_told_so_and_holds_nothing(endpoint: Endpoint) -> None:
    host, port = endpoint.addresses[0]
    with redis.Redis(host, port) as operator:
        operator.execute_command("ACL", "SETUSER", "hasty", "reset", "on", ">hunter2", "~*", "&*", "+@all", "-wait")
    hasty = Endpoint(endpoint.addresses, {}, {"user": "hasty", "password": "hunter2"})
    with opened(hasty) as client:
        refused = client.acquire("hasty", TTL_MS, 0, TRY)
        assert isinstance(refused, Refusal)
        assert refused.outcome is Outcome.ERROR
        assert "NOPERM" in refused.reason
        assert not leftovers(endpoint, "hasty")


def test_facts_count_the_replicas_that_the_server_has(endpoint: Endpoint) -> None:
    with opened(endpoint) as client:
        assert client.server_facts().nodes == 2
