"""What a PostgreSQL server keeps for a lock, asked past the adapter."""

from collections.abc import Mapping
from typing import Any

import psycopg

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0
_PRESENCE = """
    SELECT count(*), count(xact_start),
    (SELECT count(*) FROM pg_locks WHERE pg_locks.pid = ANY (array_agg(activity.pid)))
    FROM pg_stat_activity AS activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """Sessions that hold or wait for some row of the lock table: PostgreSQL keeps row locks in the rows, not by key."""
    query = """
        SELECT DISTINCT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE relname = 'locks' AND relkind = 'r' ORDER BY pid"""
    return sessions(endpoint, query)


def sessions(endpoint: Endpoint, query: str) -> list[str]:
    """Sessions whose pids a query selects."""
    return [f"session {pid}" for (pid,) in _rows(endpoint, query)]


def presence(endpoint: Endpoint) -> Mapping[str, int]:
    """Sessions of clients, the transactions that are open in them, and the locks that they hold or wait for.

    Who listens to a channel only the listener's own session can see; it ends with that.
    """
    ((there, in_transaction, locks),) = _rows(endpoint, _PRESENCE)
    return {"sessions": there, "transactions": in_transaction, "locks": locks}


def _rows(endpoint: Endpoint, query: str) -> list[tuple[Any, ...]]:
    host, port = endpoint.addresses[0]
    with psycopg.connect(
        host=host,
        port=port,
        dbname=endpoint.options["database"],
        user=endpoint.options["user"],
        password=endpoint.secrets.get("password"),
        connect_timeout=int(_WITHIN_S),
    ) as connection:
        return connection.execute(query.encode()).fetchall()
