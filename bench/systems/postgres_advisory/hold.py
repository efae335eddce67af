"""The one lock of a session: taken, proven and let go, each in one round trip."""

import time

from bench.systems.postgres_advisory.numbers import number_of
from bench.systems.postgres_row.session import Session, StatementFailed, failed
from bench.systems.postgres_row.statements import COMMIT, TELLING
from bench.systems.postgres_row.transaction import LIMIT_MS_MAX, NotHeld, RowTransaction, telling

# MATERIALIZED keeps the two steps apart: the number is locked first, and only then is the token drawn. The statement is
# a transaction of its own, so a token that moved the sequence's log is on disk before this client hears of it.
_TAKEN = "WITH held AS MATERIALIZED (SELECT {taking} AS took) SELECT nextval('lockbench.fence') FROM held{only}"
# The two halves of the number, as pg_locks shows it: of this session, in this database. Here and in what lets go, names
# are named with their schema: a holder may have set another search_path.
_HELD = """SELECT FROM pg_catalog.pg_locks
    WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock' AND objsubid = 1
    AND pid = pg_catalog.pg_backend_pid()
    AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
    AND classid::bigint = ($1::bigint >> 32) & 4294967295 AND objid::bigint = $1::bigint & 4294967295"""
STATEMENTS = {
    b"waiting": _TAKEN.format(taking="pg_advisory_lock($1)", only="").encode(),
    b"passing": _TAKEN.format(taking="pg_try_advisory_lock($1)", only=" WHERE took").encode(),
    # All of them: a statement of the holder's own may have taken the number again, and each taking is counted.
    b"release": b"SELECT pg_catalog.pg_advisory_unlock($1), pg_catalog.pg_advisory_unlock_all()",
    b"release all": b"SELECT pg_catalog.pg_advisory_unlock_all()",
    b"commit": COMMIT.encode(),
    **TELLING,
    b"prove": _HELD.encode(),
    b"limit": b"SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false)",
}


class AdvisoryHold(RowTransaction):
    """In the place of a transaction that holds a row: a session that holds a number. Errors are the same."""

    def __init__(self, session: Session, call_timeout_ms: int) -> None:
        super().__init__(session, call_timeout_ms)
        self._limit_ms = None  # there is no lock_timeout yet
        self._number = b""

    def _take(self, key: str, block_ms: int) -> int | None:
        if block_ms:
            self._limit(block_ms)
        self._number = str(number_of(key)).encode()
        take = (b"waiting" if block_ms else b"passing", (self._number,))
        began_s = time.monotonic()
        (taken,) = self.session.call(take, within_s=block_ms / 1000 + self._call_s)
        if failed(taken):
            # The lock may be ours even so: it is the session's and outlives the transaction that took it, so a limit
            # that struck between the two steps, or while the statement was committed, leaves it behind.
            self.session.call((b"release all", ()), within_s=self._call_s)
            raise self._refused(taken, block_ms, began_s)
        self._proven_at = self.session.statements
        return int(taken.get_value(0, 0) or b"") if taken.ntuples else None

    def standing(self) -> bool:
        """No transaction holds it: whether the session still does, only the server can tell."""
        return True

    def prove(self) -> None:
        """Ask whether the session still holds the number. Raises StatementFailed."""
        self._proven_at = self.session.statements
        (proof,) = self.session.call((b"prove", (self._number,)), within_s=self._call_s)
        if failed(proof):
            raise StatementFailed(proof)
        if not proof.ntuples:
            raise NotHeld("the session does not hold the lock any more: a statement of the holder's own let it go")

    def commit(self, channel: str = "") -> None:
        """Let the lock go, after a transaction that the holder left open: it may have taken the number as well, for
        as long as it lasts. Then tell so in the channel, if any. Raises NotHeld when the session had the lock no more.
        """
        left_open = ((b"commit", ()),) if self.session.in_transaction() else ()
        letting_go = (*left_open, (b"release", (self._number,)), *telling(channel))
        answers = self.session.call(*letting_go, within_s=self._call_s)
        for answer in answers:
            if failed(answer):
                raise StatementFailed(answer)
        if answers[len(left_open)].get_value(0, 0) != b"t":
            raise NotHeld("the session does not hold the lock any more: a statement of the holder's own let it go")

    def _limit(self, limit_ms: int) -> None:
        """Bound the wait by lock_timeout: here, unlike with rows, it is one wait for one lock. The statement as a whole
        may take a call's time more, for the token and its commit."""
        self._tell_limits(limit_ms, limit_ms, min(limit_ms + self._call_timeout_ms, LIMIT_MS_MAX))
