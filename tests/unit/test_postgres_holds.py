"""Answers speak of the lock: what its own session does to it is known to `lost`, renew and release."""

import contextlib
import sys
import threading
import time
import uuid
from collections.abc import Callable

import pytest

from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

TRY, BLOCK = Wait("try"), Wait("block")
WITHIN_S = 10.0
PATIENCE_MS = 10_000  # for one call, on a machine that does much else
LOCKS = [name for name in SYSTEMS if name.startswith("postgres")]
BY_TRANSACTION = [name for name in LOCKS if SYSTEMS[name].folder == "bench.systems.postgres_row"]
BY_SESSION = [name for name in LOCKS if SYSTEMS[name].folder == "bench.systems.postgres_advisory"]
KEY = ""  # each test has its own: what one of them leaves is in no other's way
UNLOCK = (
    "SELECT pg_advisory_unlock(((classid::bigint << 32) | objid::bigint)) FROM pg_locks WHERE locktype = 'advisory'"
)

# What a holder may run, and lose the lock by; the last statement of each does it.
ENDS_THE_TRANSACTION = (
    ("COMMIT",),
    ("ROLLBACK",),
    ("END",),
    ("ABORT",),
    ("  /* a comment */ commit ;",),
    ("COMMIT AND CHAIN",),
    ("ROLLBACK AND CHAIN",),
    ("SAVEPOINT here", "ROLLBACK AND CHAIN"),
    ("SELECT 1/0",),
    ("SELEKT",),
    ("SELECT FROM nowhere",),
    ("VACUUM lockbench.locks",),  # refused in a transaction
    ("DISCARD ALL",),  # likewise
    ("SAVEPOINT here", "SELECT 1/0"),
    ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",),  # too late for that
    ("DEALLOCATE ALL",),  # of what this client prepared: it can prove nothing any more
    ("SELECT pg_terminate_backend(pg_backend_pid())",),
)
ENDS_THE_HOLD = (
    ("SELECT pg_advisory_unlock_all()",),
    (UNLOCK,),
    ("DISCARD ALL",),
    ("DEALLOCATE ALL",),
    ("BEGIN", UNLOCK, "COMMIT"),
    ("BEGIN", "SELECT pg_advisory_unlock_all()", "ROLLBACK"),  # what is unlocked stays so
    ("BEGIN", "SELECT 1/0"),
    ("SELECT pg_terminate_backend(pg_backend_pid())",),
)
# What it may run, and holds on.
KEEPS_THE_TRANSACTION = (
    ("SELECT 1",),
    ("SAVEPOINT here", "ROLLBACK TO here"),
    ("SAVEPOINT here", "RELEASE here"),
    ("BEGIN",),  # a warning
    ("SELECT pg_advisory_unlock_all()",),
    ("SET lock_timeout = 1",),
    ("SET LOCAL statement_timeout = 5000",),
)
KEEPS_THE_HOLD = (
    ("SELECT 1",),
    ("SELECT 1/0",),  # no transaction: nothing fails but the statement
    ("COMMIT",),
    ("BEGIN", "COMMIT"),
    ("BEGIN", "ROLLBACK"),
    ("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)"),
    ("SET lock_timeout = 1",),
    ("RESET ALL",),
)
# The variants draw another token by the same session: a few of each kind.
A_FEW = slice(0, 9, 4)
LOSES = [("postgres-row", run) for run in ENDS_THE_TRANSACTION]
LOSES += [(name, run) for name in BY_TRANSACTION if name != "postgres-row" for run in ENDS_THE_TRANSACTION[A_FEW]]
LOSES += [(name, run) for name in BY_SESSION for run in ENDS_THE_HOLD]
KEEPS = [("postgres-row", run) for run in KEEPS_THE_TRANSACTION]
KEEPS += [(name, run) for name in BY_TRANSACTION if name != "postgres-row" for run in KEEPS_THE_TRANSACTION[:2]]
KEEPS += [(name, run) for name in BY_SESSION for run in KEEPS_THE_HOLD]


@pytest.fixture(autouse=True)
def _own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "KEY", f"held-{uuid.uuid4().hex[:12]}")


def opened(server: Server, name: str) -> PostgresRowLock:
    client = SYSTEMS[name].client_class.open(server.endpoint, ClientOptions(call_timeout_ms=PATIENCE_MS))
    assert isinstance(client, PostgresRowLock)
    return client


def granted(client: LockClient) -> Grant:
    """Waits, since a server takes its time to end a session that a client has given up."""
    grant = client.acquire(KEY, 10_000, PATIENCE_MS, BLOCK)
    assert isinstance(grant, Grant), grant
    return grant


def outcome(answer: object) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def run_all(client: PostgresRowLock, statements: tuple[str, ...]) -> None:
    for statement in statements:
        with contextlib.suppress(StatementFailed, ConnectionError):
            client.execute(statement)


def run_below(client: PostgresRowLock, statements: tuple[str, ...]) -> None:
    """Past the client, on its session: it is told nothing, and has to ask."""
    for statement in statements:
        with contextlib.suppress(StatementFailed, ConnectionError):
            client._transaction.session.execute(statement, within_s=WITHIN_S)


@pytest.mark.parametrize(
    ("name", "statements"), LOSES, ids=lambda value: value if isinstance(value, str) else value[-1]
)
def test_a_holder_that_ended_its_hold_is_told(server: Server, name: str, statements: tuple[str, ...]) -> None:
    asks: dict[str, Callable[[PostgresRowLock, Grant], object]] = {
        "lost": lambda client, grant: Refusal(Outcome.LOST, client.lost(grant) or "") if client.lost(grant) else None,
        "renew": lambda client, grant: client.renew(grant),
        "release": lambda client, grant: client.release(grant),
    }
    with opened(server, name) as other:
        for what, ask in asks.items():
            run = run_all if what == "lost" else run_below
            with opened(server, name) as holder:
                grant = granted(holder)
                run(holder, statements)
                assert outcome(ask(holder, grant)) is Outcome.LOST, what
                assert holder.lost(grant)
                assert outcome(holder.release(grant)) is Outcome.LOST
                # It is another's to take, also where the holder's session had something else open; and again its.
                assert other.release(granted(other)) is RELEASED
                assert holder.release(granted(holder)) is RELEASED


@pytest.mark.parametrize(
    ("name", "statements"), KEEPS, ids=lambda value: value if isinstance(value, str) else value[-1]
)
def test_a_holder_that_did_something_else_holds_on(server: Server, name: str, statements: tuple[str, ...]) -> None:
    with opened(server, name) as other:
        for run in (run_all, run_below):
            with opened(server, name) as holder:
                grant = granted(holder)
                run(holder, statements)
                assert holder.lost(grant) is None
                assert outcome(other.acquire(KEY, 10_000, 0, TRY)) is Outcome.BUSY
                assert isinstance(holder.renew(grant), Grant)
                run(holder, statements)
                assert holder.release(grant) is RELEASED
                assert other.release(granted(other)) is RELEASED
                # Whatever was set, the next wait lasts as long as it is to.
                grant = granted(other)
                began_s = time.monotonic()
                assert outcome(holder.acquire(KEY, 10_000, 300, BLOCK)) is Outcome.TIMEOUT
                assert time.monotonic() - began_s >= 0.3
                other.release(grant)


# -- the end of a wait -------------------------------------------------------------------------------------------------

# The second may end the stream before its word is read.
ENDS_OF_A_WAIT = {"pg_cancel_backend": "user request", "pg_terminate_backend": ""}


@pytest.mark.parametrize("end", ENDS_OF_A_WAIT)
@pytest.mark.parametrize("name", LOCKS)
def test_a_wait_that_an_operator_ended_is_an_error_in_the_servers_word(server: Server, name: str, end: str) -> None:
    operator = Session.open(server.endpoint, WITHIN_S)
    answers: list[object] = []
    with opened(server, name) as holder, opened(server, name) as waiter:
        grant = granted(holder)
        waiting = threading.Thread(target=lambda: answers.append(waiter.acquire(KEY, 10_000, 60_000, BLOCK)))
        waiting.start()
        deadline = time.monotonic() + WITHIN_S
        ended: list[tuple[str | None, ...]] = []
        while not ended and time.monotonic() < deadline:  # poll: until it waits, as the server sees it
            query = f"SELECT {end}(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            ended = operator.execute(query, within_s=WITHIN_S)
        waiting.join(WITHIN_S)
        assert outcome(answers[0]) is Outcome.ERROR
        assert ENDS_OF_A_WAIT[end] in str(answers[0])
        assert holder.lost(grant) is None
        assert holder.release(grant) is RELEASED
        assert waiter.release(granted(waiter)) is RELEASED
    operator.close()


@pytest.mark.parametrize("timeout_ms", [2**31 - 1, 2**31, 2**63])
@pytest.mark.parametrize("name", ["postgres-row", "postgres-advisory"])
def test_a_wait_of_any_length_ends_with_the_lock(server: Server, name: str, timeout_ms: int) -> None:
    answers: list[object] = []
    client_class = SYSTEMS[name].client_class
    # A call's time of 0.4 s, and a look after three times that: a limit that was not set would have ended the wait.
    options = ClientOptions(call_timeout_ms=400)
    with opened(server, name) as holder, client_class.open(server.endpoint, options) as waiter:
        grant = granted(holder)
        waiting = threading.Thread(target=lambda: answers.append(waiter.acquire(KEY, 10_000, timeout_ms, BLOCK)))
        waiting.start()
        waiting.join(1.2)
        assert waiting.is_alive(), answers
        assert holder.release(grant) is RELEASED
        waiting.join(WITHIN_S)
        assert isinstance(answers[0], Grant), answers


@pytest.mark.parametrize("name", LOCKS)
def test_a_lease_of_any_length_can_be_asked_for(server: Server, name: str) -> None:
    """It is recorded, and both ends' probes are as slow as the kernel lets them be."""
    options = ClientOptions(ttl_ms=2**40)
    with SYSTEMS[name].client_class.open(server.endpoint, options) as client:
        grant = client.acquire(KEY, 2**40, 0, TRY)
        assert isinstance(grant, Grant), grant
        assert client.release(grant) is RELEASED
