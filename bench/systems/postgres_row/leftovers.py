"""What a PostgreSQL server keeps for a lock, asked past the adapter."""

import psycopg

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """Sessions that hold or wait for some row of the lock table: PostgreSQL keeps row locks in the rows, not by key."""
    query = """
        SELECT DISTINCT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE relname = 'locks' AND relkind = 'r' ORDER BY pid"""
    return sessions(endpoint, query)


def sessions(endpoint: Endpoint, query: str) -> list[str]:
    """Sessions whose pids a query selects."""
    host, port = endpoint.addresses[0]
    with psycopg.connect(
        host=host,
        port=port,
        dbname=endpoint.options["database"],
        user=endpoint.options["user"],
        password=endpoint.secrets.get("password"),
        connect_timeout=int(_WITHIN_S),
    ) as connection:
        return [f"session {pid}" for (pid,) in connection.execute(query.encode())]
