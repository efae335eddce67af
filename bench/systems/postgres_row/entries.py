"""The rows of a lock that is a row of PostgreSQL."""

from functools import partial

from bench.systems.entry import Look, System, Trips

_row = partial(
    System,
    servers_path="bench.systems.postgres_row.server:PostgresServers",
    server_set="postgres",
    leftovers_path="bench.systems.postgres_row.leftovers:leftovers",
    presence_path="bench.systems.postgres_row.leftovers:presence",
    default_wait="block",
    # The statement waits on the server, whose answer is the grant.
    hand_off_trips={"block": Trips(0), "lock-timeout": Trips(0)},
)

ENTRIES = (
    _row(
        name="postgres-row",
        title="Postgres row",
        client_path="bench.systems.postgres_row.lock:PostgresRowLock",
        look=Look("#CC79A7", "v"),
        headline=True,
        client_cost_target_ms=0.45,
    ),
    _row(
        name="postgres-row-unguarded",
        title="Postgres row, sequence without a guard",
        client_path="bench.systems.postgres_row.variants:UnguardedPostgresRowLock",
        tags=("unsound token",),
    ),
    _row(
        name="postgres-row-counter",
        title="Postgres row, counter in the row",
        client_path="bench.systems.postgres_row.variants:CounterTokenPostgresRowLock",
        tags=("unsound token",),
    ),
    _row(
        name="postgres-row-xid",
        title="Postgres row, transaction id as token",
        client_path="bench.systems.postgres_row.variants:TransactionIdPostgresRowLock",
        tags=("unsound token",),
    ),
)
