"""The servers are those of `postgres_row`; other statements take the lock, and are looked for when the servers tell."""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.systems.postgres_row import view
from bench.systems.postgres_row.server import PostgresServers


class PostgresAdvisoryServers(PostgresServers):
    """The same set, under the same name: a system of either kind finds it up if the other has started it."""

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint, taken_by="query LIKE '%_advisory_lock($1%'")

    def erase(self, endpoint: Endpoint, key: str) -> str:
        raise ValueError("an advisory lock is a number in the server's memory: there is no entry to be erased")
