"""A plain DEL answers what it did, whether or not somebody looked at the lease before it."""

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, Outcome
from bench.systems.redis.variants import PlainDeleteRedisLock
from tests.unit.redis_scripted import ScriptedRedis


@pytest.mark.parametrize(("deleted", "outcome"), [(1, Outcome.RELEASED), (0, Outcome.LOST)])
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.parametrize("left_ms", [-1, 60_000])
def test_the_answer_is_what_the_delete_did(deleted: int, outcome: Outcome, looked: bool, left_ms: int) -> None:
    with ScriptedRedis(lambda _: b":%d\r\n" % deleted) as server:
        with PlainDeleteRedisLock.open(Endpoint((server.address,)), ClientOptions()) as client:
            deadline_ns = client.clock.monotonic_ns() + left_ms * 1_000_000
            grant = Grant("k", "me", 1, 500, deadline_ns)
            grant.fate.deadline_ns = deadline_ns
            if looked:
                assert (client.lost(grant) is None) == (left_ms > 0)
            assert client.release(grant).outcome is outcome
            assert client.lost(grant), "it has released"
        assert [words for words in server.commands if words[0] == "DEL"] == [["DEL", "lockbench:{k}:lock"]]
