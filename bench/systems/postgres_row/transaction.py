"""The one transaction of a session that holds a row: begun and taken in one round trip, ended in another."""

import time
from typing import TYPE_CHECKING

from bench.systems.postgres_row.session import Command, Session, StatementFailed, failed

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

QUERY_CANCELED = "57014"
LOCK_NOT_AVAILABLE = "55P03"
_BY_A_LIMIT = (QUERY_CANCELED, LOCK_NOT_AVAILABLE)  # statement_timeout, lock_timeout; also what an operator cancels
_CLOCKS_AGREE = 0.99  # the server counts by its own clock
LIMIT_MS_MAX = 2**31 - 1  # of a setting of the server
LONGEST_WAIT_MS = 2_000_000_000  # 23 days, which leaves room below that for a call


class WaitIsOver(StatementFailed):
    """The server ended a wait that lasted as long as it was to."""


class NotHeld(StatementFailed):
    """The session does not have the lock that it was to prove or let go: something else ended it before."""

    def __init__(self, why: str) -> None:
        Exception.__init__(self, why)
        self.sqlstate = ""


def telling(channel: str) -> tuple[Command, ...]:
    """For those who wait for a notification: they are told once the transaction has ended and the lock is free."""
    return ((b"notify", (channel.encode(),)), (b"unlisten", ())) if channel else ()


class RowTransaction:
    """A session whose statements are prepared. Every method raises SessionLost when the session is gone or silent."""

    def __init__(self, session: Session, call_timeout_ms: int) -> None:
        self.session = session
        self._call_timeout_ms = call_timeout_ms
        self._call_s = call_timeout_ms / 1000
        self._limit_ms: int | None = call_timeout_ms  # what the server was last set to: at its start, a call's time
        self._proven_at = self._began_at = session.statements  # so many had been run when the lock was proven last
        self._id: bytes | None = None

    def as_new(self) -> bool:
        """May it take a lock? Not once the session has ended, nor once a statement of somebody's own was run on it:
        what that leaves (a role, settings, another transaction, a copy under way) outlives a transaction."""
        return self.session.statements == self._began_at and self.session.alive()

    def take(self, key: str, block_ms: int) -> int | None:
        """Take the lock, waiting up to `block_ms` for it. The token; None: another has it.

        Raises StatementFailed when the server refused, WaitIsOver after the wait. Something is held only when there is
        a token.
        """
        while block_ms > LONGEST_WAIT_MS:
            try:
                return self._take(key, LONGEST_WAIT_MS)
            except WaitIsOver:
                block_ms -= LONGEST_WAIT_MS
        return self._take(key, block_ms)

    def _take(self, key: str, block_ms: int) -> int | None:
        """Open the transaction and take the row. The transaction stays open only when there is a token."""
        self._limit(block_ms or self._call_timeout_ms)
        row = (key.encode(),)
        began_s = time.monotonic()
        while True:
            take = (b"waiting" if block_ms else b"passing", row)
            began, taken = self.session.call((b"begin", ()), take, within_s=block_ms / 1000 + self._call_s)
            if failed(taken):
                self.session.call((b"rollback", ()), within_s=self._call_s)
                raise self._refused(began if failed(began) else taken, block_ms, began_s)
            if taken.ntuples:
                self._id = taken.get_value(0, 2)
                self._proven_at = self.session.statements
                return int(taken.get_value(0, 0) or b"")
            # No row: there never was one, or another has it. The insert tells, in the round trip that must end the
            # transaction anyway.
            _, created = self.session.call((b"rollback", ()), (b"create", row), within_s=self._call_s)
            if failed(created):
                raise StatementFailed(created)
            if not created.command_tuples and not block_ms:
                return None

    def standing(self) -> bool:
        """Does the lock stand, as far as this machine knows? Asks nobody."""
        return self.session.in_transaction()

    def prove(self) -> None:
        """Ask whether the transaction that took the row is still open: another may be. Raises StatementFailed."""
        self._proven_at = self.session.statements
        (proof,) = self.session.call((b"prove", ()), within_s=self._call_s)
        if failed(proof):
            raise StatementFailed(proof)
        if proof.get_value(0, 0) != self._id:
            raise NotHeld("the transaction that held the row has ended: a statement of the holder's own ended it")

    def commit(self, channel: str = "") -> None:
        """End the transaction, and tell so in the channel, if any: one round trip. Raises StatementFailed when it was
        not there, or could not be committed."""
        if self._proven_at != self.session.statements:  # a COMMIT is answered alike whatever it ends, if anything
            self.prove()
        *_, ended = self.session.call(*telling(channel), (b"commit", ()), within_s=self._call_s)
        if ended.command_status != b"COMMIT":  # a transaction that had failed is answered ROLLBACK
            raise StatementFailed(ended)

    def _refused(self, answer: "PGresult", block_ms: int, began_s: float) -> StatementFailed:
        """The server's code says that a statement was cancelled, and not by what. A wait that ended before its time was
        not ended by its limit."""
        refused = StatementFailed(answer)
        by_limit = block_ms and refused.sqlstate in _BY_A_LIMIT
        lasted = time.monotonic() - began_s >= block_ms / 1000 * _CLOCKS_AGREE
        return WaitIsOver(answer) if by_limit and lasted else refused

    def _limit(self, limit_ms: int) -> None:
        """Bound the wait on the server by statement_timeout.

        lock_timeout would start anew for each of the lock waits that make up the wait for a row: for a place in the
        queue, for the holder, for whoever slips in.
        """
        self._tell_limits(limit_ms, min(limit_ms, LIMIT_MS_MAX))

    def _tell_limits(self, limit_ms: int, *limits_ms: int) -> None:
        """Tell the server, unless it knows."""
        if self._limit_ms != limit_ms:
            parameters = [str(each).encode() for each in limits_ms]
            (reply,) = self.session.call((b"limit", parameters), within_s=self._call_s)
            if failed(reply):
                raise StatementFailed(reply)
            self._limit_ms = limit_ms
