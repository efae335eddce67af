"""What a database or a role was given by its owner does not reach the algorithm; what it may not do, is said."""

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.thorough import one_in
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

TRY, BLOCK = Wait("try"), Wait("block")
WITHIN_S = 10.0
PATIENCE_MS = 10_000
LOCKS = [name for name in SYSTEMS if name.startswith("postgres")]

HOSTILE = {
    "lock_timeout": "50ms",
    "statement_timeout": "50ms",
    "idle_in_transaction_session_timeout": "100ms",
    "idle_session_timeout": "100ms",
    "transaction_timeout": "100ms",  # PostgreSQL 17 and later
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
    "transaction_isolation": "serializable",
    "transaction_read_only": "on",
    "search_path": "hostile, pg_catalog",
    "standard_conforming_strings": "off",
    "client_min_messages": "debug5",
    "client_connection_check_interval": "0",
    "tcp_keepalives_idle": "7200",
    "tcp_user_timeout": "0",
    "application_name": "nobody",
    "client_encoding": "latin1",
    "DateStyle": "German",
    "TimeZone": "Asia/Kathmandu",
    "bytea_output": "escape",
    "lockbench.session": "another",
    "plan_cache_mode": "force_custom_plan",
    "row_security": "off",
    "deadlock_timeout": "1ms",
    "log_min_duration_statement": "0",
    "track_activities": "off",
    "session_replication_role": "replica",
}
# Functions that come first in a search path that says so.
TRAPS = (
    "CREATE SCHEMA IF NOT EXISTS hostile",
    "CREATE OR REPLACE FUNCTION hostile.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'",
    "CREATE OR REPLACE FUNCTION hostile.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'",
    "CREATE OR REPLACE FUNCTION hostile.pg_advisory_lock(bigint) RETURNS void LANGUAGE sql AS ''",
    "CREATE OR REPLACE FUNCTION hostile.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE OR REPLACE FUNCTION hostile.pg_current_xact_id() RETURNS xid8 LANGUAGE sql AS $$SELECT '1'::xid8$$",
)


@pytest.fixture(scope="module")
def operator(server: Server) -> Iterator[Session]:
    session = Session.open(server.endpoint, WITHIN_S)
    for trap in TRAPS:
        session.execute(trap, within_s=WITHIN_S)
    yield session
    session.close()


@pytest.fixture(scope="module")
def role(server: Server, operator: Session) -> Endpoint:
    """A user of the database like any other."""
    operator.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'", within_s=WITHIN_S)
    for right in RIGHTS.values():
        operator.execute(f"GRANT {right} TO plain", within_s=WITHIN_S)
    options = {**server.endpoint.options, "user": "plain"}
    return Endpoint(server.endpoint.addresses, options, {"password": "plain"})


def client_of(name: str, endpoint: Endpoint) -> LockClient:
    return SYSTEMS[name].client_class.open(endpoint, ClientOptions(call_timeout_ms=PATIENCE_MS))


@pytest.mark.parametrize("setting", one_in(3, HOSTILE))
def test_a_lock_is_the_same_whatever_its_database_and_role_were_given(
    server: Server, operator: Session, setting: str
) -> None:
    owners = ("DATABASE lockbench", "ROLE lockbench")
    value = HOSTILE[setting] if setting == "search_path" else f"'{HOSTILE[setting]}'"
    # What this server knows no setting of, or takes from nobody, no database can have been given.
    for owner in owners:
        with contextlib.suppress(StatementFailed):
            operator.execute(f"ALTER {owner} SET {setting} = {value}", within_s=WITHIN_S)
    try:
        for name in ("postgres-row", "postgres-advisory"):
            holds_waits_and_hands_over(server.endpoint, name)
    finally:
        for owner in owners:
            operator.execute(f"ALTER {owner} RESET ALL", within_s=WITHIN_S)


def holds_waits_and_hands_over(endpoint: Endpoint, name: str) -> None:
    answers: list[object] = []
    with client_of(name, endpoint) as holder, client_of(name, endpoint) as waiter:
        grant = holder.acquire("k", 10_000, PATIENCE_MS, BLOCK)
        assert isinstance(grant, Grant), grant
        waiting = threading.Thread(target=lambda: answers.append(waiter.acquire("k", 10_000, PATIENCE_MS, BLOCK)))
        waiting.start()
        time.sleep(0.25)  # longer than each hostile limit: nothing ends the hold or the wait
        assert waiting.is_alive(), answers
        assert holder.lost(grant) is None
        renewed = holder.renew(grant)
        assert isinstance(renewed, Grant), renewed
        assert holder.release(renewed) is RELEASED
        waiting.join(WITHIN_S)
        (after,) = answers
        assert isinstance(after, Grant), after
        assert after.token != grant.token
        busy = holder.acquire("k", 10_000, 300, BLOCK)
        assert isinstance(busy, Refusal)
        assert busy.outcome is Outcome.TIMEOUT
        assert waiter.release(after) is RELEASED


# -- rights ------------------------------------------------------------------------------------------------------------

# All that a role needs once the schema is there: as the README lists it.
RIGHTS = {
    "the schema": "USAGE ON SCHEMA lockbench",
    "reading rows": "SELECT ON lockbench.locks",
    "making rows": "INSERT ON lockbench.locks",
    "locking rows": "UPDATE ON lockbench.locks",
    "drawing tokens": "USAGE ON SEQUENCE lockbench.fence",
    "looking for a recovery": "SELECT ON lockbench.since_recovery",
}
AT_CONNECT = {"the schema", "looking for a recovery"}
NOT_NEEDED = {"postgres-advisory": {"reading rows", "making rows", "locking rows"}}


@pytest.mark.parametrize("name", ["postgres-row", "postgres-advisory"])
def test_the_rights_that_are_listed_are_enough(role: Endpoint, name: str) -> None:
    holds_waits_and_hands_over(role, name)


@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize("name", ["postgres-row", "postgres-advisory"])
def test_a_right_that_is_missing_is_an_error_in_the_servers_word(
    role: Endpoint, operator: Session, name: str, right: str
) -> None:
    operator.execute(f"REVOKE {RIGHTS[right]} FROM plain", within_s=WITHIN_S)
    try:
        if right in AT_CONNECT:
            with pytest.raises(ConnectionError, match=f"{role}.*permission denied"):
                client_of(name, role)
            return
        with client_of(name, role) as client:
            answer = client.acquire(f"new {right}", 10_000, 0, TRY)
            if right in NOT_NEEDED.get(name, set()):
                assert isinstance(answer, Grant)
                return
            assert isinstance(answer, Refusal)
            assert answer.outcome is Outcome.ERROR
            assert "permission denied" in answer.reason
    finally:
        operator.execute(f"GRANT {RIGHTS[right]} TO plain", within_s=WITHIN_S)


def test_what_recovery_needs_is_checked_at_connect(role: Endpoint, operator: Session) -> None:
    """A lost reply is settled by ending the old session: who may not do that could only say `unknown`."""
    ending = "EXECUTE ON FUNCTION pg_terminate_backend(integer, bigint)"
    operator.execute(f"REVOKE {ending} FROM PUBLIC", within_s=WITHIN_S)
    try:
        with pytest.raises(ConnectionError, match="pg_terminate_backend"):
            client_of("postgres-row", role)
        operator.execute(f"GRANT {ending} TO plain", within_s=WITHIN_S)
        client_of("postgres-row", role).close()
    finally:
        operator.execute(f"GRANT {ending} TO PUBLIC", within_s=WITHIN_S)
