"""PostgreSQL on itself: the executions of the statement that takes a row, and the flushes of its log.

`pg_stat_statements` times a statement's execution alone. The flush that a release waits for is in no statement's time:
COMMIT is carried out after the statement of that name has ended. How long flushes take is counted only with
`track_wal_io_timing`, which is off by default and in our servers; how many there were always is. Requests it does not
count: a COMMIT that was prepared is in no statistics of statements, and those of a database come a second late.
"""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.systems.postgres_row.session import Session, SessionLost, StatementFailed

_WITHIN_S = 5.0
_US_PER_MS = 1e3

_CALLS = """SELECT coalesce(sum(calls), 0), coalesce(sum(total_exec_time), 0) FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND """
# Every way of the adapter to take a row, by what is left of it when constants are taken out.
_ROW_TAKEN = "query LIKE '%lockbench.locks%' AND (query LIKE '%FOR UPDATE%' OR query LIKE 'UPDATE %')"
_FLUSHES = "SELECT wal_sync, wal_sync_time, current_setting('track_wal_io_timing') FROM pg_stat_wal"


def read(endpoint: Endpoint, taken_by: str = _ROW_TAKEN) -> Mapping[str, float]:
    """Of the whole server, as far as it lets us see: an extension or a column that it has not is left out.

    `taken_by` is the condition, in SQL, that tells the statements that take the lock.

    From PostgreSQL 18 on the flushes are in another view, and left out here. Raises ConnectionError.
    """
    session = Session.open(endpoint, _WITHIN_S, application_name="lockbench view")
    view: dict[str, float] = {}
    try:
        for calls, spent_ms in _rows(session, _CALLS + taken_by):
            view |= {"execute_calls": float(calls or 0), "execute_us": float(spent_ms or 0) * _US_PER_MS}
        for flushes, spent_ms, timed in _rows(session, _FLUSHES):
            view["fsync_calls"] = float(flushes or 0)
            if timed == "on":
                view["fsync_us"] = float(spent_ms or 0) * _US_PER_MS
    finally:
        session.close()
    return view


def _rows(session: Session, query: str) -> list[tuple[str | None, ...]]:
    try:
        return session.execute(query, within_s=_WITHIN_S)
    except StatementFailed:
        return []
    except SessionLost as lost:
        raise ConnectionError(f"PostgreSQL does not show its statistics: {lost}") from lost
