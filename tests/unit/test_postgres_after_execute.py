"""What a holder says through `execute` ends with its hold: the next acquire of that client is as good as its first."""

import contextlib
import sys
import time
import uuid
from collections.abc import Iterator

import pytest

from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.thorough import one_in
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

TRY, BLOCK = Wait("try"), Wait("block")
KEY = ""  # each test has its own: what one of them leaves is in no other's way
WITHIN_S = 10.0
WAIT_MS = 150
LOCKS = [name for name in SYSTEMS if name.startswith("postgres")]
ROW, ADVISORY = "postgres-row", "postgres-advisory"
TAKE_AGAIN = (
    "SELECT pg_advisory_xact_lock((classid::bigint << 32) | objid::bigint) FROM pg_locks "
    "WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
)

# Each is run in order, by a holder; some end the hold. A name of another user, schema or function is the test's own.
SAID: dict[str, tuple[str, ...]] = {
    # who we are
    "role": ("SET ROLE nobody_much",),
    "session authorization": ("SET SESSION AUTHORIZATION nobody_much",),
    "local role": ("SET LOCAL ROLE nobody_much",),
    "both": ("SET SESSION AUTHORIZATION nobody_much", "SET ROLE NONE"),
    # what a transaction may do
    "read only": ("SET default_transaction_read_only = on",),
    "read only, as characteristics": ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",),
    "read only, this one": ("SET TRANSACTION READ ONLY",),
    "isolation": ("SET default_transaction_isolation = 'serializable'",),
    "isolation, as characteristics": ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",),
    "deferrable": ("SET default_transaction_deferrable = on",),
    # how long it may last
    "lock_timeout": ("SET lock_timeout = '5ms'",),
    "statement_timeout": ("SET statement_timeout = '1s'",),
    "statement_timeout, by function": ("SELECT set_config('statement_timeout', '1000', false)",),
    "all timeouts": ("SET lock_timeout = '5ms'", "SET statement_timeout = '1s'"),
    "idle_in_transaction_session_timeout": ("SET idle_in_transaction_session_timeout = '9s'",),
    "idle_session_timeout": ("SET idle_session_timeout = '9s'",),
    "transaction_timeout": ("SET transaction_timeout = '9s'",),  # PostgreSQL 17 and later
    "deadlock_timeout": ("SET deadlock_timeout = '1ms'",),
    "client_connection_check_interval": ("SET client_connection_check_interval = 0",),
    "keepalives": ("SET tcp_user_timeout = 0", "SET tcp_keepalives_idle = 7200"),
    # what names and texts mean
    "search_path": ("SET search_path = hostile, pg_catalog",),
    "empty search_path": ("SET search_path = ''",),
    "client_encoding": ("SET client_encoding = 'LATIN1'",),
    "standard_conforming_strings": ("SET standard_conforming_strings = off",),
    "application_name": ("SET application_name = 'somebody else'",),
    "our mark": ("SET lockbench.session = 'another'",),
    "dates": ("SET TimeZone = 'Asia/Kathmandu'", "SET DateStyle = 'German'"),
    # how durable, how planned
    "synchronous_commit": ("SET synchronous_commit = off",),
    "planner": ("SET plan_cache_mode = force_custom_plan", "SET enable_indexscan = off"),
    "replication role": ("SET session_replication_role = replica",),
    "messages": ("SET client_min_messages = debug5",),
    # everything at once
    "reset all": ("RESET ALL",),
    "reset one": ("RESET statement_timeout",),
    "default": ("SET lock_timeout TO DEFAULT", "SET search_path TO DEFAULT", "SET statement_timeout TO DEFAULT"),
    "set and reset all": ("SET lock_timeout = '5ms'", "RESET ALL"),
    "discard all": ("DISCARD ALL",),
    "commit and discard all": ("COMMIT", "DISCARD ALL"),
    "discard the rest": ("DISCARD PLANS", "DISCARD TEMP", "DISCARD SEQUENCES"),
    "deallocate all": ("DEALLOCATE ALL",),
    "deallocate one": ("DEALLOCATE passing",),
    "deallocate the proof": ("DEALLOCATE prove",),
    # transactions left open, or in another's place
    "begin": ("BEGIN",),
    "begin and savepoint": ("BEGIN", "SAVEPOINT here"),
    "begin read only": ("BEGIN READ ONLY",),
    "begin serializable": ("BEGIN ISOLATION LEVEL SERIALIZABLE", "SELECT 1"),
    "begin and fail": ("BEGIN", "SELECT 1/0"),
    "begin and take again": ("BEGIN", TAKE_AGAIN),
    "commit and begin": ("COMMIT", "BEGIN"),
    "commit, begin and take the row": ("COMMIT", "BEGIN", "SELECT key FROM lockbench.locks FOR UPDATE"),
    "commit and chain": ("COMMIT AND CHAIN",),
    "rollback": ("ROLLBACK",),
    "begin and set local": ("BEGIN", "SET LOCAL lock_timeout = '5ms'", "SET LOCAL ROLE nobody_much"),
    # copies, which change what the connection speaks
    "copy in": ("COPY pg_temp.mine FROM STDIN",),
    "copy in to a table": ("CREATE TEMP TABLE mine (n int)", "COPY mine FROM STDIN"),
    "copy out": ("COPY (SELECT 1) TO STDOUT",),
    "copy a lot out": ("COPY (SELECT generate_series(1, 100000)) TO STDOUT",),
    # what a session keeps
    "listen": ("LISTEN something",),
    "listen, and be told": ("LISTEN something", "NOTIFY something"),
    "prepare": ("PREPARE mine AS SELECT 1",),
    "prepare in the place of ours": ("DEALLOCATE passing", "PREPARE passing (text) AS SELECT 1, 2, 3"),
    "temporary table": ("CREATE TEMP TABLE locks (key text PRIMARY KEY, counter bigint)",),
    "cursor": ("DECLARE mine CURSOR WITH HOLD FOR SELECT generate_series(1, 10)",),
    "cursor in a transaction": ("BEGIN", "DECLARE mine CURSOR FOR SELECT 1"),
    "another lock": ("SELECT pg_advisory_lock(77)",),
    "unlock all": ("SELECT pg_advisory_unlock_all()",),
    "table lock": ("LOCK TABLE lockbench.locks IN SHARE MODE",),
    "the sequence": ("SELECT nextval('lockbench.fence')", "DISCARD SEQUENCES"),
    # ends of the session
    "terminated": ("SELECT pg_terminate_backend(pg_backend_pid())",),
    "renamed and terminated": ("SET application_name = 'x'", "SELECT pg_terminate_backend(pg_backend_pid())"),
    "cancelled": ("SELECT pg_cancel_backend(pg_backend_pid())",),
    # mistakes
    "nonsense": ("SELEKT",),
    "empty": ("",),
    "several": ("SELECT 1; SELECT 2",),
    "too few parameters": ("SELECT $1::int",),
}
# Functions that come first where the search path says so.
SET_UP = (
    "CREATE ROLE nobody_much",
    "CREATE SCHEMA hostile",
    "GRANT USAGE ON SCHEMA hostile TO PUBLIC",
    "CREATE TABLE hostile.written (n int, CONSTRAINT once UNIQUE (n) DEFERRABLE INITIALLY DEFERRED)",
    "CREATE FUNCTION hostile.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'",
    "CREATE FUNCTION hostile.pg_advisory_lock(bigint) RETURNS void LANGUAGE sql AS ''",
    "CREATE FUNCTION hostile.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION hostile.pg_advisory_unlock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE FUNCTION hostile.pg_advisory_unlock_all() RETURNS void LANGUAGE sql AS ''",
    "CREATE FUNCTION hostile.pg_current_xact_id() RETURNS xid8 LANGUAGE sql AS $$SELECT '1'::xid8$$",
    "CREATE FUNCTION hostile.pg_current_xact_id_if_assigned() RETURNS xid8 LANGUAGE sql AS $$SELECT '1'::xid8$$",
    "CREATE FUNCTION hostile.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$SELECT ''$$",
)
# Everything that a session has of its own, apart from its mark. Names are PostgreSQL's own.
OF_A_SESSION = {
    "settings": "SELECT name, setting FROM pg_catalog.pg_settings WHERE name NOT LIKE '%.session' ORDER BY 1",
    "users": "SELECT current_user, session_user",
    "statements": "SELECT name, statement FROM pg_catalog.pg_prepared_statements WHERE name <> '' ORDER BY 1",
    "channels": "SELECT pg_catalog.pg_listening_channels()",
    "cursors": "SELECT name FROM pg_catalog.pg_cursors WHERE name <> ''",
    "temporary": "SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema()",
    "advisory locks": "SELECT mode, pg_catalog.count(*) FROM pg_catalog.pg_locks "
    "WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid() GROUP BY 1",
}
SYSTEMS_AND_SAID = [(name, said) for name in (ROW, ADVISORY) for said in SAID]
# The variants draw another token by the same session: a few of each kind.
SYSTEMS_AND_SAID += [(name, said) for name in LOCKS if name not in (ROW, ADVISORY) for said in list(SAID)[::8]]
# Who is granted next: by turns the same client, at once, and another before it.
CASES = [(*case, ("the same", "another")[turn % 2]) for turn, case in enumerate(SYSTEMS_AND_SAID)]
CASES += [(name, said, "another") for name in (ROW, ADVISORY) for said in ("begin and take again", "search_path")]


@pytest.fixture(autouse=True)
def _own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "KEY", f"said-{uuid.uuid4().hex[:12]}")


@pytest.fixture(scope="module")
def prepared(server: Server) -> Server:
    operator = Session.open(server.endpoint, WITHIN_S)
    PostgresRowLock.open(server.endpoint).close()  # which makes the schema
    for statement in SET_UP:
        operator.execute(statement, within_s=WITHIN_S)
    operator.close()
    return server


@pytest.fixture
def opened(prepared: Server, request: pytest.FixtureRequest) -> Iterator[tuple[PostgresRowLock, PostgresRowLock]]:
    """Two clients of the system: who says something, and another."""
    client_class = SYSTEMS[request.param].client_class
    options = ClientOptions(call_timeout_ms=1_500)  # a copy waits for so long
    with client_class.open(prepared.endpoint, options) as one, client_class.open(prepared.endpoint, options) as other:
        assert isinstance(one, PostgresRowLock)
        assert isinstance(other, PostgresRowLock)
        yield one, other


def granted(client: LockClient, wait: Wait = TRY, timeout_ms: int = 0) -> Grant:
    grant = client.acquire(KEY, 10_000, timeout_ms, wait)
    assert isinstance(grant, Grant), grant
    return grant


def outcome(answer: object) -> Outcome:
    assert isinstance(answer, Refusal), answer
    return answer.outcome


def of_the_session(client: PostgresRowLock) -> dict[str, list[tuple[str | None, ...]]]:
    """Seen in a hold, and by what the client may be asked."""
    return {what: client.execute(query) for what, query in OF_A_SESSION.items()}


@pytest.mark.parametrize(("opened", "said", "first"), one_in(3, dict.fromkeys(CASES)), indirect=["opened"])
def test_what_a_holder_said_ends_with_its_hold(
    opened: tuple[PostgresRowLock, PostgresRowLock], said: str, first: str
) -> None:
    client, other = opened
    grant = granted(other)
    as_new = of_the_session(other)
    other.release(grant)

    grant = granted(client)
    for statement in SAID[said]:
        with contextlib.suppress(StatementFailed, ConnectionError):
            client.execute(statement)
    held = client.lost(grant) is None
    answer = client.release(grant)
    assert held == (answer is RELEASED), answer
    if first == "another":
        # A server takes its time to end a session that was given up, and no time to free what was released.
        assert other.release(granted(other, *((TRY, 0) if held else (BLOCK, 10_000)))) is RELEASED
    second = granted(client)
    assert second.token != grant.token or not client.capabilities.token_rises
    assert of_the_session(client) == as_new
    assert outcome(other.acquire(KEY, 10_000, 0, TRY)) is Outcome.BUSY
    waits(other)
    assert client.lost(second) is None
    assert isinstance(client.renew(second), Grant)
    assert client.release(second) is RELEASED

    # It was looked at by `execute` again, and waits as long as it is to.
    third = granted(other)
    waits(client)
    assert outcome(client.acquire(KEY, 10_000, 0, TRY)) is Outcome.BUSY
    assert other.release(third) is RELEASED
    assert client.release(granted(client, BLOCK, WAIT_MS)) is RELEASED


# What keeps the hold, whatever else it does: the release says that it was ours.
KEEPS = ("search_path", "role", "session authorization", "read only", "synchronous_commit", "listen", "another lock")


@pytest.mark.parametrize(
    ("opened", "said"), [(name, said) for name in (ROW, ADVISORY) for said in KEEPS], indirect=["opened"]
)
def test_it_does_not_cost_the_hold(opened: tuple[PostgresRowLock, PostgresRowLock], said: str) -> None:
    client, other = opened
    grant = granted(client)
    for statement in SAID[said]:
        client.execute(statement)
    assert client.lost(grant) is None
    assert isinstance(client.renew(grant), Grant)
    assert outcome(other.acquire(KEY, 10_000, 0, TRY)) is Outcome.BUSY
    assert client.release(grant) is RELEASED
    assert other.release(granted(other)) is RELEASED


@pytest.mark.parametrize("opened", [ADVISORY], indirect=True)
def test_a_transaction_that_was_left_open_is_carried_out_by_the_release(
    opened: tuple[PostgresRowLock, PostgresRowLock],
) -> None:
    """As what a holder of a row says is. What cannot be carried out is told."""
    client, other = opened
    count = "SELECT count(*) FROM hostile.written"
    grant = granted(client)
    for statement in ("BEGIN", "INSERT INTO hostile.written VALUES (1)"):
        client.execute(statement)
    assert client.release(grant) is RELEASED
    grant = granted(other)
    assert other.execute(count) == [("1",)]
    other.release(grant)
    grant = granted(client)
    for statement in ("BEGIN", "INSERT INTO hostile.written VALUES (1)"):  # judged at the commit
        client.execute(statement)
    answer = client.release(grant)
    assert outcome(answer) is Outcome.LOST
    assert "once" in str(answer)
    grant = granted(other, BLOCK, 10_000)
    assert other.execute(count) == [("1",)]


def waits(client: LockClient) -> None:
    began_s = time.monotonic()
    assert outcome(client.acquire(KEY, 10_000, WAIT_MS, BLOCK)) is Outcome.TIMEOUT
    assert time.monotonic() - began_s >= WAIT_MS / 1000
