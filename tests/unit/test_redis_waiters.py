"""Waiters on a server that answers as the test says: what is sent, and what becomes of one that cannot be woken."""

from collections.abc import Callable

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, Outcome, Refusal
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.scripts import FREE, TAKE
from bench.systems.redis.woken import WAITERS, scripts
from bench.systems.wait import Wait
from tests.unit.redis_scripted import Reply, ScriptedRedis, bulk, error

BUSY, WON, FREED = b":0\r\n", b":1\r\n", b":1\r\n"
TAKES = {TAKE.sha, scripts.TAKE_AND_CALL_OFF.sha, scripts.TAKE_IN_TURN.sha}
LISTENS = ("SUBSCRIBE", "BLPOP")
FREES_BY = {
    "poll": FREE,
    "pubsub": scripts.FREE_AND_PUBLISH,
    "blpop": scripts.FREE_AND_PUSH,
    "queue": scripts.LEAVE_LINE,
}
OPTIONS = ClientOptions(call_timeout_ms=200)


def answering(take: Reply, listen: Callable[[list[str]], Reply]) -> Callable[[list[str]], Reply]:
    def answer(words: list[str]) -> Reply:
        if words[0] in LISTENS:
            return listen(words)
        if words[0] == "UNSUBSCRIBE":
            return b"*3\r\n" + bulk("unsubscribe") + bulk(words[1]) + b":0\r\n"
        return take if words[1] in TAKES else FREED

    return answer


def subscribed(words: list[str]) -> Reply:
    return b"*3\r\n" + bulk("subscribe") + bulk(words[1]) + b":1\r\n"


def closed(_words: list[str]) -> Reply:
    raise OSError("the connection is closed")


def takes(server: ScriptedRedis) -> int:
    return sum(words[0] == "EVALSHA" and words[1] in TAKES for words in server.commands)


def waited(server: ScriptedRedis, strategy: str, timeout_ms: int) -> Grant | Refusal:
    with RedisLock.open(Endpoint((server.address,)), OPTIONS) as client:
        return client.acquire("k", 10_000, timeout_ms, Wait.parse(f"{strategy}-50ms"))


@pytest.mark.parametrize("strategy", WAITERS)
@pytest.mark.parametrize("listen", [closed, lambda _: b""], ids=["ended", "silent"])
def test_a_waiter_that_cannot_be_woken_looks_once_an_interval(
    strategy: str, listen: Callable[[list[str]], Reply]
) -> None:
    with ScriptedRedis(answering(BUSY, listen)) as server:
        answer = waited(server, strategy, 300)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.TIMEOUT
        assert 3 <= takes(server) <= 8, f"{takes(server)} looks in six intervals"


@pytest.mark.parametrize("strategy", WAITERS)
def test_a_refusal_to_wake_is_an_error_with_the_servers_word(strategy: str) -> None:
    with ScriptedRedis(answering(BUSY, lambda _: error("NOPERM no permissions"))) as server:
        answer = waited(server, strategy, 300)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.ERROR
        assert "NOPERM" in answer.reason
        left = [words for words in server.commands if words[:2] == ["EVALSHA", scripts.LEAVE_LINE.sha]]
        assert len(left) == (strategy == "queue"), "who has a place takes it away, and nobody else has any"


@pytest.mark.parametrize("strategy", WAITERS)
def test_a_free_key_takes_one_request_and_no_second_connection(strategy: str) -> None:
    with ScriptedRedis(answering(WON, closed)) as server:
        with RedisLock.open(Endpoint((server.address,)), OPTIONS) as client:
            before = len(server.commands)
            grant = client.acquire("k", 10_000, 300, Wait.parse(f"{strategy}-50ms"))
            assert isinstance(grant, Grant)
            client.release(grant)
        assert [words[0] for words in server.commands[before:]] == ["EVALSHA", "EVALSHA"]


def test_how_a_grant_was_acquired_decides_what_frees_it() -> None:
    """Also on one client, and in any order: who polls sends what a client sends that knows nothing else."""
    with ScriptedRedis(answering(WON, subscribed)) as server:
        with RedisLock.open(Endpoint((server.address,)), OPTIONS) as client:
            waits = [Wait.parse("poll-5ms" if name == "poll" else f"{name}-50ms") for name in FREES_BY]
            grants = [client.acquire(wait.strategy, 10_000, 0, wait) for wait in waits]
            for grant in reversed(grants):
                assert isinstance(grant, Grant)
                client.release(grant)
        sent = [words[1] for words in server.commands if words[0] == "EVALSHA" and words[1] not in TAKES]
        assert sent[-4:] == [script.sha for script in reversed(FREES_BY.values())]


def test_the_last_look_asks_for_no_place() -> None:
    with ScriptedRedis(answering(BUSY, subscribed)) as server:
        waited(server, "queue", 120)
        kept = [words[-2] for words in server.commands if words[:2] == ["EVALSHA", scripts.TAKE_IN_TURN.sha]]
        assert kept[-1] == "0"
        assert set(kept[:-1]) == {"150"}, "three intervals"


def test_a_timed_out_subscriber_unsubscribes() -> None:
    with ScriptedRedis(answering(BUSY, subscribed)) as server:
        waited(server, "pubsub", 80)
        told = [words for words in server.commands if words[0] in ("SUBSCRIBE", "UNSUBSCRIBE")]
        assert told[0] == ["SUBSCRIBE", "lockbench:{k}:freed"]
        assert told[-1] == ["UNSUBSCRIBE", "lockbench:{k}:freed"]
