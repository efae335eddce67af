"""The row of PostgreSQL's advisory locks."""

from bench.systems.entry import System, Trips

ENTRIES = (
    System(
        name="postgres-advisory",
        title="Postgres advisory lock",
        client_path="bench.systems.postgres_advisory.lock:PostgresAdvisoryLock",
        servers_path="bench.systems.postgres_advisory.server:PostgresAdvisoryServers",
        server_set="postgres",
        leftovers_path="bench.systems.postgres_advisory.leftovers:leftovers",
        presence_path="bench.systems.postgres_row.leftovers:presence",
        default_wait="block",
        hand_off_trips={"block": Trips(0), "lock-timeout": Trips(0)},  # handed over by the server
    ),
)
