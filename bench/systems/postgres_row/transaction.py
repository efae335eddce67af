"""The one transaction of a session that holds a row: begun and taken in one round trip, ended in another."""

from bench.systems.postgres_row.session import Session, StatementFailed, failed

QUERY_CANCELED = "57014"
LOCK_NOT_AVAILABLE = "55P03"
WAIT_IS_OVER = (QUERY_CANCELED, LOCK_NOT_AVAILABLE)  # by statement_timeout, by lock_timeout


class RowTransaction:
    """A session whose statements are prepared. Every method raises SessionLost when the session is gone or silent."""

    def __init__(self, session: Session, call_timeout_ms: int) -> None:
        self.session = session
        self._call_timeout_ms = self._limit_ms = call_timeout_ms
        self._call_s = call_timeout_ms / 1000

    def take(self, key: str, block_ms: int) -> int | None:
        """Open the transaction and take the row, waiting up to `block_ms` for it. The token; None: another has it.

        Raises StatementFailed when the server refused, with one of `WAIT_IS_OVER` after the wait. The transaction is
        open only when there is a token.
        """
        self._limit(block_ms or self._call_timeout_ms)
        row = (key.encode(),)
        while True:
            take = (b"waiting" if block_ms else b"passing", row)
            began, taken = self.session.call((b"begin", ()), take, within_s=block_ms / 1000 + self._call_s)
            if failed(taken):
                self.session.call((b"rollback", ()), within_s=self._call_s)
                raise StatementFailed(began if failed(began) else taken)
            if taken.ntuples:
                return int(taken.get_value(0, 0) or b"")
            # No row: there never was one, or another has it. The insert tells, in the round trip that must end the
            # transaction anyway.
            _, created = self.session.call((b"rollback", ()), (b"create", row), within_s=self._call_s)
            if failed(created):
                raise StatementFailed(created)
            if not created.command_tuples and not block_ms:
                return None

    def prove(self) -> None:
        """Raises StatementFailed when the transaction has failed."""
        (proof,) = self.session.call((b"prove", ()), within_s=self._call_s)
        if failed(proof):
            raise StatementFailed(proof)

    def commit(self) -> None:
        """End the transaction. Raises StatementFailed when there was none that could be committed."""
        (ended,) = self.session.call((b"commit", ()), within_s=self._call_s)
        if ended.command_status != b"COMMIT":  # a transaction that had failed is answered ROLLBACK
            raise StatementFailed(ended)

    def _limit(self, limit_ms: int) -> None:
        """Bound the wait on the server by statement_timeout.

        lock_timeout would start anew for each of the lock waits that make up the wait for a row: for a place in the
        queue, for the holder, for whoever slips in.
        """
        if limit_ms != self._limit_ms:
            self.session.call((b"limit", (str(limit_ms).encode(),)), within_s=self._call_s)
            self._limit_ms = limit_ms
