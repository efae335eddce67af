"""A row beside the lock, written in the lock's own transaction: lock and data live and die together.

A write is part of the transaction that holds the lock. It counts when the lock is released, by COMMIT; where the
server ends that transaction, for whatever reason, the row is rolled back with it, and nothing can be written in it any
more. So there is no instant at which a holder has lost the lock and can still write (claim C56). Nor is there a gap
that a presented token would close: a presentation in the lock's transaction ends with it, and there is no late write to
refuse. It is judged like any other all the same.
"""

from typing import ClassVar

from bench.hazards.resources.base import OfTheLock, ResourceUnreachable, WriteRefused
from bench.hazards.resources.postgres_row import PostgresRow, PostgresRowHost
from bench.systems.base import LockClient
from bench.systems.postgres_row.lock import PostgresRowLock
from bench.systems.postgres_row.session import SessionLost, StatementFailed


class PostgresOwnTransaction(OfTheLock, PostgresRow):
    """The same row, function and log as `postgres-row`. Before a lock is joined it is written as that is."""

    kind: ClassVar[str] = "postgres-own-transaction"
    _lock: PostgresRowLock | None = None

    def join(self, client: LockClient) -> None:
        if not isinstance(client, PostgresRowLock):
            raise TypeError(f"{type(client).__name__} has no transaction that a write could be part of")
        self._lock = client

    def _execute(self, statement: str, *parameters: str) -> list[tuple[str | None, ...]]:
        if self._lock is None:
            return super()._execute(statement, *parameters)
        try:
            return self._lock.execute(statement, self._space, *parameters)
        except SessionLost as gone:
            # Whatever was sent is rolled back: only a COMMIT would have made it stay, and none was sent.
            raise WriteRefused(f"the lock's transaction is gone, and all that is written in it: {gone}") from gone
        except StatementFailed as failed:
            raise ResourceUnreachable(f"PostgreSQL at {self._endpoint}: {failed}") from failed


class PostgresOwnTransactionHost(PostgresRowHost):
    """Reads the log through a session of its own: it sees what was committed."""

    resource = PostgresOwnTransaction
