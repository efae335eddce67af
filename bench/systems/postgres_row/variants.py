"""Ways to draw a token that are often advised and are unsound: kept to be measured, beside the one that is not."""

from dataclasses import replace
from typing import ClassVar

from bench.systems.base import Capabilities
from bench.systems.postgres_row import statements
from bench.systems.postgres_row.lock import PostgresRowLock


class UnguardedPostgresRowLock(PostgresRowLock):
    """The token is a sequence value, and nobody looks after the sequence when a crash is over. It is unsound.

    What a sequence has handed out survives a crash only as far as its log was flushed, and a lock that is held has not
    committed: see `schema.py`.
    """

    capabilities: ClassVar[Capabilities] = replace(
        PostgresRowLock.capabilities, fencing_source="sequence, without a guard after a crash", token_rises=False
    )
    taking: ClassVar[statements.Taking] = statements.UNGUARDED


class CounterTokenPostgresRowLock(PostgresRowLock):
    """The token is a counter in the row, raised in the transaction. It is unsound.

    When the holder or its session dies, the transaction is rolled back, counter and all: the next holder is given the
    same token, and a resource cannot tell the two apart.
    """

    capabilities: ClassVar[Capabilities] = replace(
        PostgresRowLock.capabilities, fencing_source="counter in the row", token_rises=False
    )
    taking: ClassVar[statements.Taking] = statements.COUNTER


class TransactionIdPostgresRowLock(PostgresRowLock):
    """The token is the transaction's id, which the row shows as `xmin`. It is unsound.

    An UPDATE is given its id before it waits for the row. Whoever comes later has a higher id, and may yet be served
    first: it takes the row between a release and the waiter's waking. The waiter follows, with a smaller token.
    """

    capabilities: ClassVar[Capabilities] = replace(
        PostgresRowLock.capabilities, fencing_source="transaction id", token_rises=False
    )
    taking: ClassVar[statements.Taking] = statements.TRANSACTION_ID
