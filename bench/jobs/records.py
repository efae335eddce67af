"""The records that jobs read and write: a table of one run, made before it, and asked after it what became of them.

Each run has a schema of its own, so none finds what another left in the table, its dead rows included. What an attempt
left that was broken off goes before the run begins again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.postgres_row.session import Session, StatementFailed

_WITHIN_S = 30.0
# The database itself counts the writes of a record. What a writer reads, it raises by one: where fewer than the writes
# have arrived in the value, some writer overwrote what it had not read.
_OBJECTS = (
    """CREATE TABLE IF NOT EXISTS records (
        record integer PRIMARY KEY, value bigint NOT NULL DEFAULT 0, version bigint NOT NULL DEFAULT 0,
        highest bigint NOT NULL DEFAULT 0, writes bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50)""",
    "CREATE TABLE IF NOT EXISTS seen (message integer PRIMARY KEY)",
)
_AUDIT = """SELECT coalesce(sum(writes), 0), coalesce(sum(writes - value), 0), count(*) FILTER (WHERE writes > 0),
    coalesce(sum(writes - 1) FILTER (WHERE writes > 1), 0) FROM records"""


class NoRecords(LockbenchError):
    """The table cannot be made, or does not answer; the message has its address."""


class Found(NamedTuple):
    """What the table says after a run."""

    writes: int
    overwritten: int  # writes whose effect is not in the value any more
    written_records: int
    repeated: int  # writes of a record after its first


def schema_of(seed: int) -> str:
    """The schema of one run."""
    return f"lockbench_job_{seed}"


def open_session(endpoint: Endpoint, schema: str, within_s: float, statement_ms: int = 0) -> Session:
    """A session whose statements find the tables of one run. Raises ConnectionError."""
    settings: dict[str, str | int] = {"search_path": schema, "statement_timeout": statement_ms}
    return Session.open(endpoint, within_s, application_name="lockbench job", settings=settings)


def drop(endpoint: Endpoint, schema: str) -> None:
    """Remove the tables of an earlier attempt at a run, if there was one. Raises NoRecords."""
    with _session(endpoint, schema) as session:
        session.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE", within_s=_WITHIN_S)


def make(endpoint: Endpoint, schema: str, records: int) -> None:
    """Make the table, and its records, where they are missing. Raises NoRecords."""
    with _session(endpoint, schema) as session:
        session.execute("BEGIN", within_s=_WITHIN_S)
        # IF NOT EXISTS is not safe against two sessions at the same time; the lock ends with the transaction.
        session.execute("SELECT pg_advisory_xact_lock(hashtext('lockbench jobs'))", within_s=_WITHIN_S)
        for statement in (f"CREATE SCHEMA IF NOT EXISTS {schema}", *_OBJECTS):
            session.execute(statement, within_s=_WITHIN_S)
        session.execute(
            "INSERT INTO records (record) SELECT generate_series(0, $1::int - 1) ON CONFLICT DO NOTHING",
            str(records),
            within_s=_WITHIN_S,
        )
        session.execute("COMMIT", within_s=_WITHIN_S)


def audit_and_drop(endpoint: Endpoint, schema: str) -> Found:
    """Ask the table what became of the jobs, and remove it. Raises NoRecords."""
    with _session(endpoint, schema) as session:
        (row,) = session.ask(_AUDIT, within_s=_WITHIN_S)
        session.execute(f"DROP SCHEMA {schema} CASCADE", within_s=_WITHIN_S)
    return Found(*(int(cell or "0") for cell in row))


@contextmanager
def _session(endpoint: Endpoint, schema: str) -> Iterator[Session]:
    try:
        session = open_session(endpoint, schema, _WITHIN_S)
        try:
            yield session
        finally:
            session.close()
    except (ConnectionError, StatementFailed) as silent:
        raise NoRecords(f"the records of the jobs at {endpoint}: {silent}") from silent
