"""The one lock of a session: taken, proven and let go, each in one round trip."""

from bench.systems.postgres_advisory.numbers import number_of
from bench.systems.postgres_row.session import Session, StatementFailed, failed
from bench.systems.postgres_row.transaction import RowTransaction

# MATERIALIZED keeps the two steps apart: the number is locked first, and only then is the token drawn. The statement is
# a transaction of its own, so a token that moved the sequence's log is on disk before this client is told of it.
_TAKEN = "WITH held AS MATERIALIZED (SELECT {taking} AS took) SELECT nextval('lockbench.fence') FROM held{only}"
STATEMENTS = {
    b"waiting": _TAKEN.format(taking="pg_advisory_lock($1)", only="").encode(),
    b"passing": _TAKEN.format(taking="pg_try_advisory_lock($1)", only=" WHERE took").encode(),
    b"release": b"SELECT pg_advisory_unlock($1)",
    b"release all": b"SELECT pg_advisory_unlock_all()",
    b"prove": b"SELECT 1",
    b"limit": b"SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false)",
}


class NotHeld(StatementFailed):
    """The session does not have the lock that it was to let go: somebody else made it let go before."""

    def __init__(self) -> None:
        Exception.__init__(self, "the session does not hold the lock any more")
        self.sqlstate = ""


class AdvisoryHold(RowTransaction):
    """In the place of a transaction that holds a row: a session that holds a number. Errors are the same."""

    def __init__(self, session: Session, call_timeout_ms: int) -> None:
        super().__init__(session, call_timeout_ms)
        self._limit_ms = 0  # there is no lock_timeout yet
        self._number = b""

    def take(self, key: str, block_ms: int) -> int | None:
        if block_ms:
            self._limit(block_ms)
        self._number = str(number_of(key)).encode()
        take = (b"waiting" if block_ms else b"passing", (self._number,))
        (taken,) = self.session.call(take, within_s=block_ms / 1000 + self._call_s)
        if failed(taken):
            # The lock may be ours even so: it is the session's and outlives the transaction that took it, so a limit
            # that struck between the two steps, or while the statement was committed, leaves it behind.
            self.session.call((b"release all", ()), within_s=self._call_s)
            raise StatementFailed(taken)
        return int(taken.get_value(0, 0) or b"") if taken.ntuples else None

    def commit(self) -> None:
        """Let the lock go. Raises NotHeld when the session had it no more."""
        (released,) = self.session.call((b"release", (self._number,)), within_s=self._call_s)
        if failed(released):
            raise StatementFailed(released)
        if released.get_value(0, 0) != b"t":
            raise NotHeld

    def _limit(self, limit_ms: int) -> None:
        """Bound the wait by lock_timeout: here, unlike with rows, it is one wait for one lock. The statement as a whole
        may take a call's time more, for the token and its commit."""
        if limit_ms != self._limit_ms:
            limits = (str(limit_ms).encode(), str(limit_ms + self._call_timeout_ms).encode())
            self.session.call((b"limit", limits), within_s=self._call_s)
            self._limit_ms = limit_ms
