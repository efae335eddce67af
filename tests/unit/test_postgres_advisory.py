"""What is particular to advisory locks: numbers for keys, and a lock that outlives the statement that took it."""

import pytest

from bench.systems.base import RELEASED, Grant, Outcome, Refusal
from bench.systems.postgres_advisory import hold
from bench.systems.postgres_advisory.lock import PostgresAdvisoryLock
from bench.systems.postgres_advisory.numbers import number_of
from bench.systems.postgres_row.session import Session
from bench.systems.wait import Wait
from tests.unit.postgres_server import Server

TRY, BLOCK = Wait("try"), Wait("block")


def test_the_number_of_a_key_never_changes() -> None:
    # From `printf orders | sha256sum`. Clients of two releases must lock the same number.
    assert number_of("orders") == 2023957755765852388
    assert -(2**63) <= number_of("k") < 2**63


def granted(client: PostgresAdvisoryLock, key: str) -> Grant:
    grant = client.acquire(key, 10_000, 0, TRY)
    assert isinstance(grant, Grant), grant
    return grant


@pytest.mark.servers
def test_keys_of_one_number_block_each_other_and_share_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hold, "number_of", lambda _: 7)
    with PostgresAdvisoryLock.open(server.endpoint) as one, PostgresAdvisoryLock.open(server.endpoint) as other:
        grant = granted(one, "a")
        answer = other.acquire("b", 10_000, 0, TRY)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.BUSY
        assert one.release(grant) is RELEASED
        granted(other, "b")


@pytest.mark.servers
def test_a_limit_that_strikes_after_the_lock_was_taken_leaves_nothing(server: Server) -> None:
    """The token's sequence is locked by somebody, so that the statement takes the lock and is cancelled then."""
    operator = Session.open(server.endpoint, 5.0)
    with PostgresAdvisoryLock.open(server.endpoint) as client, PostgresAdvisoryLock.open(server.endpoint) as other:
        operator.execute("BEGIN", within_s=5.0)
        operator.execute("ALTER SEQUENCE lockbench.fence CACHE 1", within_s=5.0)
        answer = client.acquire("k", 10_000, 300, BLOCK)
        operator.execute("ROLLBACK", within_s=5.0)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.TIMEOUT, answer
        granted(other, "k")
    operator.close()


@pytest.mark.servers
def test_a_lock_that_somebody_else_let_go_is_told_as_lost(server: Server) -> None:
    """As a pooler's DISCARD ALL would: the session lives, and holds nothing."""
    with PostgresAdvisoryLock.open(server.endpoint) as client:
        grant = granted(client, "k")
        client._transaction.session.execute("SELECT pg_advisory_unlock_all()", within_s=5.0)
        answer = client.release(grant)
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.LOST


@pytest.mark.servers
@pytest.mark.parametrize("again", ["SELECT pg_advisory_lock($1::bigint)", "SELECT pg_try_advisory_lock($1::bigint)"])
def test_a_release_frees_a_number_that_was_taken_again(server: Server, again: str) -> None:
    """PostgreSQL counts how often a session has taken a number."""
    with PostgresAdvisoryLock.open(server.endpoint) as client, PostgresAdvisoryLock.open(server.endpoint) as other:
        grant = granted(client, "k")
        client.execute(again, str(number_of("k")))
        assert client.release(grant) is RELEASED
        granted(other, "k")
