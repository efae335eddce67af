"""The SQL of the lock, and of the three ways to draw a token that are often advised and are wrong."""

from dataclasses import dataclass

_ROW = "SELECT key FROM lockbench.locks WHERE key = $1 FOR UPDATE"
# Lifts the time limit of the wait once the row is ours, until the transaction ends: it must not cancel a COMMIT or a
# renewal on a slow machine. And names the transaction, so that it differs from a later one of the same session.
_OURS = "set_config('statement_timeout', '0', true), pg_current_xact_id()"

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
COMMIT = "COMMIT"
# Part of a release that is told. It is told when the transaction has ended, and then this session listens no more.
TELLING = {b"notify": b"SELECT pg_catalog.pg_notify($1, '')", b"unlisten": b"UNLISTEN *"}

# The look before the leap is for the variants: while a holder has an uncommitted update of the row, the insert alone
# would wait for the holder's transaction to end before it could say that there is a conflict.
CREATE = """INSERT INTO lockbench.locks (key)
    SELECT $1 WHERE NOT EXISTS (SELECT FROM lockbench.locks WHERE key = $1) ON CONFLICT DO NOTHING"""


@dataclass(frozen=True, slots=True)
class Taking:
    """How a row is taken and its token drawn: by a statement that waits, and by one that passes over a locked row."""

    waiting: str
    passing: str


# MATERIALIZED keeps the two steps apart: the inner query locks the row, and only then does the outer draw.
_SEQUENCE = f"WITH held AS MATERIALIZED ({_ROW} SKIP LOCKED) SELECT nextval('lockbench.fence'), {_OURS} FROM held"
SEQUENCE = Taking(waiting=_SEQUENCE.replace(" SKIP LOCKED", ""), passing=_SEQUENCE)

# The same from a sequence that nobody moves on after a crash.
_UNGUARDED = _SEQUENCE.replace("lockbench.fence", "lockbench.fence_unguarded")
UNGUARDED = Taking(waiting=_UNGUARDED.replace(" SKIP LOCKED", ""), passing=_UNGUARDED)

_COUNTER = f"UPDATE lockbench.locks SET counter = counter + 1 WHERE key = $1 RETURNING counter, {_OURS}"
COUNTER = Taking(waiting=_COUNTER, passing=_COUNTER.replace("$1", f"({_ROW} SKIP LOCKED)"))

# An UPDATE is given its transaction id before it waits for the row.
_ID = f"UPDATE lockbench.locks SET counter = counter WHERE key = $1 RETURNING pg_current_xact_id(), {_OURS}"
TRANSACTION_ID = Taking(waiting=_ID, passing=_ID.replace("$1", f"({_ROW} SKIP LOCKED)"))


def prepared(taking: Taking) -> dict[bytes, bytes]:
    """Every statement of a lock's session, by the name that it is prepared under."""
    return {
        b"begin": BEGIN.encode(),
        b"waiting": taking.waiting.encode(),
        b"passing": taking.passing.encode(),
        b"create": CREATE.encode(),
        b"commit": COMMIT.encode(),
        **TELLING,
        b"rollback": b"ROLLBACK",
        b"prove": b"SELECT pg_catalog.pg_current_xact_id_if_assigned()",
        b"limit": b"SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', '0', false)",
    }
