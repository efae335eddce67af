"""Which tokens survive what, on a real server: it is killed, its clients are, and eight of them contend."""

import itertools
import signal
import threading

import pytest

from bench.systems.base import RELEASED, Grant
from bench.systems.postgres_row import schema
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.variants import CounterTokenPostgresRowLock, TransactionIdPostgresRowLock
from bench.systems.wait import Wait
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

TRY, BLOCK = Wait("try"), Wait("block")
LOGGED_AHEAD = 33  # values that PostgreSQL writes to its log ahead of the sequence: one more needs a new log record


def take(client: PostgresRowLock, key: str) -> int:
    grant = client.acquire(key, 10_000, 10_000, BLOCK)
    assert isinstance(grant, Grant), grant
    assert grant.token is not None
    return grant.token


def token_before_and_after_a_crash(server: Server, lock: type[PostgresRowLock], key: str) -> tuple[int, int]:
    """Grants until one is held whose sequence value needed a log record of its own, not yet on disk; then a crash."""
    with lock.open(server.endpoint) as client:
        for _ in range(LOGGED_AHEAD):
            grant = client.acquire(key, 10_000, 0, TRY)
            assert isinstance(grant, Grant)
            assert client.release(grant) is RELEASED
        before = take(client, key)
        server.end(signal.SIGKILL)
    server.start()
    with lock.open(server.endpoint) as client:
        return before, take(client, key)


def test_a_sequence_token_rises_over_a_crash_of_the_server(server: Server) -> None:
    before, after = token_before_and_after_a_crash(server, PostgresRowLock, "crash")
    assert after > before


def test_a_counter_token_is_handed_out_again_after_a_crash(server: Server) -> None:
    before, after = token_before_and_after_a_crash(server, CounterTokenPostgresRowLock, "crash-counter")
    assert after == before


def test_a_bare_sequence_would_be_handed_out_again_after_a_crash(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason for the guard of the fence: without its jump, the same server, the same lock, the same token."""
    unguarded = ["\n".join(line for line in sql.splitlines() if "setval" not in line) for sql in schema._OBJECTS]
    assert unguarded != list(schema._OBJECTS)
    monkeypatch.setattr(schema, "_OBJECTS", tuple(unguarded))
    server.end(signal.SIGINT)
    server.start()  # settles with the statements as they are now
    # The log is also written out every 200 ms, whoever commits: now and then that comes just before the crash.
    crashes = (token_before_and_after_a_crash(server, PostgresRowLock, "crash-unguarded") for _ in range(5))
    assert any(after <= before for before, after in crashes)


def test_an_orderly_restart_keeps_the_sequence_without_a_jump(server: Server) -> None:
    with PostgresRowLock.open(server.endpoint) as client:
        before = take(client, "restart")
    server.end(signal.SIGINT)
    server.start()
    with PostgresRowLock.open(server.endpoint) as client:
        assert 0 < take(client, "restart") - before < 2 * LOGGED_AHEAD


@pytest.mark.parametrize(("lock", "rises"), [(PostgresRowLock, True), (CounterTokenPostgresRowLock, False)])
def test_a_token_after_a_holder_that_died(server: Server, lock: type[PostgresRowLock], rises: bool) -> None:
    key = f"died-{lock.__name__}"
    with lock.open(server.endpoint) as dying:
        first = take(dying, key)
    with lock.open(server.endpoint) as next_one:
        assert (take(next_one, key) > first) is rises


@pytest.mark.parametrize(("lock", "in_order"), [(PostgresRowLock, True), (TransactionIdPostgresRowLock, False)])
def test_tokens_in_the_order_of_contended_grants(server: Server, lock: type[PostgresRowLock], in_order: bool) -> None:
    key, grants, clients = f"order-{lock.__name__}", 1_000, 8
    turns, tokens, failures = itertools.count(), list[int](), list[AssertionError]()

    def contend() -> None:
        try:
            with lock.open(server.endpoint) as client:
                while next(turns) < grants:
                    grant = client.acquire(key, 10_000, 30_000, BLOCK)
                    assert isinstance(grant, Grant), grant
                    tokens.append(
                        grant.token or 0
                    )  # by the holder only: the order of the list is the order of the grants
                    assert client.release(grant) is RELEASED
        except AssertionError as failed:
            failures.append(failed)

    threads = [threading.Thread(target=contend) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert len(tokens) == grants
    assert all(before < after for before, after in itertools.pairwise(tokens)) is in_order
