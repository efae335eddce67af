"""The bench's objects in a PostgreSQL database, made idempotently, and the guard of the fence after a crash.

Why a guard: `nextval` survives a crash only as far as its log record was flushed, and a lock's transaction has not
committed while the lock is held. A server killed in that state comes back and hands the same token out again (seen on
PostgreSQL 15 with fsync on: token 34 held, server killed, token 34 granted anew). So the first session after a
recovery moves the sequence beyond every value that may have been handed out, durably, before it takes a lock.

The recovery is noticed by an UNLOGGED table: PostgreSQL empties it in every crash recovery and promotion, and keeps it
over a clean stop.
"""

from bench.systems.postgres_row.session import Session

# More than the values that can be handed out and not yet flushed: one for each session, as each commit flushes.
FENCE_JUMP = 1_048_576

_OBJECTS = (
    "CREATE SCHEMA IF NOT EXISTS lockbench",
    # Room for HOT updates in each page: the variants that write the row must not pay for index entries as well.
    """CREATE TABLE IF NOT EXISTS lockbench.locks (
        key text COLLATE "C" PRIMARY KEY, counter bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50)""",
    "CREATE SEQUENCE IF NOT EXISTS lockbench.fence AS bigint CACHE 1",  # a cache per session would break the order
    # As its neighbour, and out of the guard's sight: what the guard is for is measured on it.
    "CREATE SEQUENCE IF NOT EXISTS lockbench.fence_unguarded AS bigint CACHE 1",
    "CREATE UNLOGGED TABLE IF NOT EXISTS lockbench.since_recovery (at timestamptz NOT NULL)",
    f"""CREATE OR REPLACE FUNCTION lockbench.guard_fence() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM lockbench.since_recovery) THEN RETURN false; END IF;
        LOCK TABLE lockbench.since_recovery IN SHARE ROW EXCLUSIVE MODE;
        IF EXISTS (SELECT FROM lockbench.since_recovery) THEN RETURN false; END IF;
        PERFORM set_config('synchronous_commit', 'on', true);
        PERFORM setval('lockbench.fence', nextval('lockbench.fence') + {FENCE_JUMP});
        INSERT INTO lockbench.since_recovery VALUES (clock_timestamp());
        RETURN true;
    END $$""",
)


def create_schema(session: Session, within_s: float) -> None:
    """Make what is missing. Raises StatementFailed (no permission) or SessionLost."""
    session.execute("BEGIN", within_s=within_s)
    # IF NOT EXISTS is not safe against two sessions at once; the lock ends with the transaction.
    session.execute("SELECT pg_advisory_xact_lock(hashtext('lockbench schema'))", within_s=within_s)
    for statement in _OBJECTS:
        session.execute(statement, within_s=within_s)
    session.execute("COMMIT", within_s=within_s)
