"""What a PostgreSQL server keeps for an advisory lock, asked past the adapter."""

from bench.servers.endpoint import Endpoint
from bench.systems.postgres_advisory.numbers import number_of
from bench.systems.postgres_row.leftovers import sessions


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """Sessions that hold or wait for the key's number, which pg_locks shows in two halves."""
    high, low = divmod(number_of(key) % 2**64, 2**32)
    query = f"""
        SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND classid = {high}::oid AND objid = {low}::oid ORDER BY pid"""
    return sessions(endpoint, query)
