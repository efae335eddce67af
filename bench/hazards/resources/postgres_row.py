"""A row in PostgreSQL with the highest token in a column. Atomic because one function call, which is one transaction,
locks the row, judges, updates it and writes the log; the server finishes it whatever becomes of the writer.
"""

from collections.abc import Sequence
from typing import ClassVar, Self

from bench.errors import LockbenchError
from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    HostOnServers,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceUnreachable,
)
from bench.servers.endpoint import Endpoint
from bench.systems.postgres_row.session import Session, StatementFailed

# A schema of its own: the lock's tables are in `lockbench`.
_OBJECTS = (
    "CREATE SCHEMA IF NOT EXISTS lockbench_resources",
    """CREATE TABLE IF NOT EXISTS lockbench_resources.kept (
        space text NOT NULL, key text NOT NULL, value bigint NOT NULL DEFAULT 0, highest bigint NOT NULL DEFAULT 0,
        judged bigint NOT NULL DEFAULT 0, PRIMARY KEY (space, key))""",
    """CREATE TABLE IF NOT EXISTS lockbench_resources.log (
        space text NOT NULL, key text NOT NULL, place bigint NOT NULL, attempt_id text NOT NULL, actor text NOT NULL,
        held_under text NOT NULL, token bigint, fence boolean NOT NULL, rule text NOT NULL, value_read bigint NOT NULL,
        value_sent bigint NOT NULL, accepted boolean NOT NULL, highest_before bigint NOT NULL,
        value_before bigint NOT NULL, PRIMARY KEY (space, key, place), UNIQUE (space, key, attempt_id))""",
    # Each statement of a volatile function sees what was committed before it began (under READ COMMITTED, the default),
    # so what is read after the row is locked is the newest there is.
    """CREATE OR REPLACE FUNCTION lockbench_resources.judge(
        in_space text, in_key text, in_attempt text, in_actor text, in_held_under text, in_token bigint,
        in_fence boolean, in_rule text, in_value_read bigint, in_value bigint)
    RETURNS lockbench_resources.log LANGUAGE plpgsql AS $$
    DECLARE
        before lockbench_resources.kept;
        verdict lockbench_resources.log;
        ok boolean;
    BEGIN
        INSERT INTO lockbench_resources.kept (space, key) VALUES (in_space, in_key) ON CONFLICT DO NOTHING;
        SELECT * INTO STRICT before FROM lockbench_resources.kept WHERE space = in_space AND key = in_key FOR UPDATE;
        SELECT * INTO verdict FROM lockbench_resources.log
            WHERE space = in_space AND key = in_key AND attempt_id = in_attempt;
        IF FOUND THEN RETURN verdict; END IF;
        ok := NOT in_fence OR in_token IS NULL OR in_token > before.highest
            OR (in_token = before.highest AND in_rule = 'below');
        UPDATE lockbench_resources.kept SET judged = judged + 1,
            value = CASE WHEN ok THEN coalesce(in_value, value) ELSE value END,  -- NULL: a presentation
            highest = CASE WHEN ok THEN greatest(highest, in_token) ELSE highest END  -- greatest() passes over NULL
            WHERE space = in_space AND key = in_key;
        INSERT INTO lockbench_resources.log VALUES (in_space, in_key, before.judged + 1, in_attempt, in_actor,
            in_held_under, in_token, in_fence, in_rule, in_value_read, coalesce(in_value, before.value), ok,
            before.highest, before.value)
            RETURNING * INTO verdict;
        RETURN verdict;
    END $$""",
)
_COLUMNS = "attempt_id, place, accepted, highest_before, value_before"
_READ = "SELECT value, highest FROM lockbench_resources.kept WHERE space = $1 AND key = $2"
_JUDGE = f"""SELECT {_COLUMNS} FROM lockbench_resources.judge(
    $1, $2, $3, $4, $5, nullif($6, '')::bigint, $7::boolean, $8, $9::bigint, nullif($10, '')::bigint)"""
_LOG = f"SELECT {_COLUMNS} FROM lockbench_resources.log WHERE space = $1 AND key = $2 ORDER BY place"


class PostgresRow(Resource):
    """One session of its own, replaced by the next call when it is lost."""

    kind: ClassVar[str] = "postgres-row"

    def __init__(self, endpoint: Endpoint, space: str) -> None:
        self._endpoint = endpoint
        self._space = space
        self._session: Session | None = None

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(Endpoint.from_tree(place["endpoint"]), place["space"])
        try:
            opened._session = connect(opened._endpoint)
        except ConnectionError as failed:
            raise ResourceUnreachable(str(failed)) from failed
        return opened

    def read(self, key: str) -> Reading:
        rows = self._execute(_READ, key)
        return Reading(*map(_number, rows[0])) if rows else Reading(0, 0)

    def write(self, attempt: Attempt) -> Judged:
        token, value = ("" if number is None else str(number) for number in (attempt.token, attempt.value))
        fence = "true" if attempt.fence else "false"
        who = (attempt.attempt_id, attempt.actor, attempt.grant)
        checked = (token, fence, attempt.rule.value)
        (row,) = self._execute(_JUDGE, attempt.key, *who, *checked, str(attempt.value_read), value)
        return _verdict(row)

    def judged(self, key: str) -> Sequence[Judged]:
        return [_verdict(row) for row in self._execute(_LOG, key)]

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = None

    def _execute(self, statement: str, *parameters: str) -> list[tuple[str | None, ...]]:
        try:
            if self._session is None or self._session.closed:
                self._session = connect(self._endpoint)
            return self._session.execute(statement, self._space, *parameters, within_s=ANSWER_WITHIN_S)
        except (ConnectionError, StatementFailed) as failed:
            raise ResourceUnreachable(f"PostgreSQL at {self._endpoint}: {failed}") from failed


class PostgresRowHost(HostOnServers):
    """Makes the schema where it is missing. Rows and log stay in the database."""

    resource: ClassVar[type[Resource]] = PostgresRow

    def _prepare(self) -> None:
        try:
            _create(self._endpoint)
        except (ConnectionError, StatementFailed) as failed:
            raise LockbenchError(f"no postgres-row resource in PostgreSQL at {self._endpoint}: {failed}") from failed


def connect(endpoint: Endpoint) -> Session:
    """A session whose every statement the server ends in time: a write that the writer has given up on must not wait
    in a queue and be carried out long after the log was read. Raises ConnectionError."""
    limit_ms = round(ANSWER_WITHIN_S * 1000)
    return Session.open(
        endpoint, ANSWER_WITHIN_S, application_name="lockbench resource", settings={"statement_timeout": limit_ms}
    )


def _create(endpoint: Endpoint) -> None:
    session = connect(endpoint)
    try:
        session.execute("BEGIN", within_s=ANSWER_WITHIN_S)
        # IF NOT EXISTS is not safe against two sessions at once; the lock ends with the transaction.
        session.execute("SELECT pg_advisory_xact_lock(hashtext('lockbench resources'))", within_s=ANSWER_WITHIN_S)
        for statement in _OBJECTS:
            session.execute(statement, within_s=ANSWER_WITHIN_S)
        session.execute("COMMIT", within_s=ANSWER_WITHIN_S)
    finally:
        session.close()


def _number(cell: str | None) -> int:
    assert cell is not None, "no column that is read here may be NULL"
    return int(cell)


def _verdict(row: tuple[str | None, ...]) -> Judged:
    attempt_id, order, accepted, highest_before, value_before = row
    return Judged(str(attempt_id), _number(order), accepted == "t", _number(highest_before), _number(value_before))
