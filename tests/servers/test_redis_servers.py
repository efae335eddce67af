"""Redis' server files against a real redis-server: proven by identity, configured, and the same after a restart."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.servers.spec import NotReady, WrongServer
from bench.systems.base import Grant, Outcome, Refusal, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.variants import NaiveFenceRedisLock
from bench.systems.wait import Wait
from tests.servers.one_redis import DEADLINE_S, SPEC, OneRedis

pytestmark = pytest.mark.servers
TRY = Wait("try")
ALWAYS = {"durability": "always"}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[OneRedis]:
    server = OneRedis(tmp_path / 'a "private" folder')
    yield server
    server.kill()


def take(client: RedisLock, key: str = "k") -> Grant:
    answer = client.acquire(key, 60_000, 0, TRY)
    assert isinstance(answer, Grant), answer
    return answer


def test_a_server_is_proven_by_pid_and_folder(redis: OneRedis, tmp_path: Path) -> None:
    pid = redis.process.pid
    assert SPEC.prove(redis.node, None) == redis.identity
    with pytest.raises(WrongServer, match="was started with pid 1 "):
        SPEC.prove(redis.node, 1)
    with pytest.raises(WrongServer, match="was started with pid"):
        SPEC.prove(replace(redis.node, directory=tmp_path), pid)
    redis.kill()
    with pytest.raises(NotReady, match="refused"):
        SPEC.prove(redis.node, pid)


def test_another_program_behind_the_port_is_the_wrong_server(redis: OneRedis) -> None:
    with socket.create_server(("127.0.0.1", 0)) as web:

        def answer_once() -> None:
            client, _ = web.accept()
            with client:
                client.recv(1000)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer_once)
        thread.start()
        with pytest.raises(WrongServer, match="does not answer as redis would"):
            SPEC.prove(replace(redis.node, ports={"client": web.getsockname()[1]}), None)
        thread.join(DEADLINE_S)


def test_the_durable_variant_is_read_back_and_outlives_a_kill(redis: OneRedis) -> None:
    with redis.open() as client:
        assert client.server_facts().durability == {"appendonly": "no", "appendfsync": "everysec", "save": ""}
        SPEC.configure([redis.node], ALWAYS)
        before = client.server_facts()
        assert before.durability == {"appendonly": "yes", "appendfsync": "always", "save": ""}
        grant = take(client)
        redis.kill()
        redis.start()
        facts = client.server_facts()
        assert facts.durability == before.durability
        assert facts.identity != before.identity
        assert isinstance(client.release(grant), Released), "an acknowledged lock did not survive a kill"
        again = take(client)
        assert (grant.token, again.token) == (1, 2)


def test_the_default_variant_keeps_nothing(redis: OneRedis) -> None:
    SPEC.configure([redis.node], ALWAYS)
    SPEC.configure([redis.node], {})
    with redis.open() as client:
        grant = take(client)
        redis.kill()
        redis.start()
        lost = client.release(grant)
        assert isinstance(lost, Refusal)
        assert lost.outcome in (Outcome.LOST, Outcome.UNKNOWN)
        assert take(client).token == 1, "the counter outlived a server that keeps nothing"


@pytest.mark.parametrize("variant", [{"durability": "sometimes"}, {"durable": "always"}])
def test_an_unknown_variant_is_refused(redis: OneRedis, variant: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no server variant"):
        SPEC.configure([redis.node], variant)


def test_a_server_that_may_evict_locks_is_refused_at_open(redis: OneRedis) -> None:
    redis.say("CONFIG", "SET", "maxmemory", "100mb")
    redis.say("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    with pytest.raises(RuntimeError, match="may evict locks"):
        redis.open()


def test_flushed_scripts_are_loaded_again(redis: OneRedis) -> None:
    with redis.open() as client:
        redis.say("SCRIPT", "FLUSH")
        grant = take(client)
        redis.say("SCRIPT", "FLUSH")
        assert isinstance(client.release(grant), Released)
        assert take(client).token == 2, "a reload ran the script twice"


def test_a_failing_counter_leaves_no_lock(redis: OneRedis) -> None:
    with redis.open() as client:
        redis.say("SET", "lockbench:{k}:fence", "not a number")
        answer = client.acquire("k", 60_000, 0, TRY)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.ERROR
        assert redis.say("EXISTS", "lockbench:{k}:lock") == 0


def test_a_number_drawn_before_the_lock_goes_backwards(redis: OneRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client comes, holds and leaves between INCR and SET: the later holder has the smaller token."""
    tokens: list[int | None] = []
    with NaiveFenceRedisLock.open(SPEC.endpoint([redis.node])) as slow, redis.open() as quick:
        draw = slow._draw

        def draw_and_stall(key: str) -> int:
            number = draw(key)
            grant = take(quick, key)
            tokens.append(grant.token)
            quick.release(grant)
            return number

        monkeypatch.setattr(slow, "_draw", draw_and_stall)
        tokens.append(take(slow).token)
    assert tokens == [2, 1]
