"""A row as a lock: `SELECT … FOR UPDATE` in a transaction that stays open while the lock is held.

The token is a sequence value, drawn once the row is held, so tokens are in the order of grants. The end of the
transaction frees the row, whoever or whatever ends it: no clock is involved, and no TTL.
"""

from dataclasses import replace
from functools import partial
from typing import ClassVar

from bench.systems.base import RELEASED, Capabilities, Grant, LockClient, Outcome, Refusal, Released, ServerFacts
from bench.systems.postgres_row import statements
from bench.systems.postgres_row.connect import connect
from bench.systems.postgres_row.facts import server_facts
from bench.systems.postgres_row.session import Session, SessionLost, StatementFailed
from bench.systems.postgres_row.transaction import RowTransaction, WaitIsOver
from bench.systems.postgres_row.waiting import NOTIFY, OWN_WAYS, channel_of, until_granted
from bench.systems.wait import POLLING, Wait


class PostgresRowLock(LockClient):
    """Holds at most one grant at a time, since a session has one transaction.

    Variant `idle_timeout`: `on` has the server end a transaction that has been idle for a TTL (default `off`).
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        fencing_source="sequence, drawn while the row is held",
        token_rises=True,
        expiry_judge="connection",
        lease_scope="none",
        queue_order="none",  # waiters queue, but a newcomer can take a row between its release and the waiter's waking
        durability="each release is a commit, durable as fsync and synchronous_commit say",
        nodes=1,
        quorum=1,
        wait_strategies=("try", *POLLING, *OWN_WAYS),
        # BEGIN and the statement that takes the row travel together: one trip.
        # Taking the row and drawing the token write to the log, and nobody waits for it: the commit flushes both.
        acquire_durable_writes=0,
        durable_when=("fsync=on", "synchronous_commit=on|local|remote_write|remote_apply"),
    )
    taking: ClassVar[statements.Taking] = statements.SEQUENCE

    _session: Session | None = None
    _held: Grant | None = None
    _closed = False

    def _connect(self) -> None:
        self._session = connect(self.endpoint, self.options, statements.prepared(self.taking), self._session)
        self._transaction = RowTransaction(self._session, self.options.call_timeout_ms)

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        if self._held is not None:
            raise RuntimeError("this session has its one grant: release it, or open a second client")
        if self._closed:
            return Refusal(Outcome.ERROR, "this client is closed")
        channel = channel_of(key) if wait.strategy == NOTIFY else ""
        ask, call_s = partial(self._ask, key, ttl_ms, channel), self.options.call_timeout_ms / 1000
        try:
            return until_granted(self.clock, wait, timeout_ms, ask, lambda: self._transaction.session, channel, call_s)
        except (SessionLost, StatementFailed) as failed:
            self._transaction.session.close()
            return self._fate(str(failed))

    def _ask(self, key: str, ttl_ms: int, channel: str, block_ms: int) -> Grant | Refusal:
        """One attempt, which waits on the server if it is to. A release of its grant is told in the channel, if any."""
        try:
            if not self._transaction.as_new():  # nothing was sent for this acquire: what follows is not a retry
                self._connect()
        except ConnectionError as refused:
            return Refusal(Outcome.ERROR, str(refused))
        self._begun = ()
        try:
            token = self._transaction.take(key, block_ms)
        except StatementFailed as refused:
            return Refusal(Outcome.TIMEOUT if isinstance(refused, WaitIsOver) else Outcome.ERROR, str(refused))
        except SessionLost as lost:
            return self._fate(str(lost))
        if token is None:
            return Refusal(Outcome.BUSY, "another holds it")
        self._held = Grant(key, self._next_owner(), token, ttl_ms, deadline_ns=None, handle=channel)
        return self._held

    def _abandon(self) -> None:
        """The server notices within a second, and rolls back; this client's next acquire sees to that."""
        self._lose("interrupted")

    def _fate(self, reason: str) -> Refusal:
        """An acquire got no answer, and its session is closed. Make sure, by a new session, that it holds nothing."""
        try:
            self._connect()
        except ConnectionError as unanswered:
            return Refusal(Outcome.UNKNOWN, f"{reason}; then {unanswered}")
        return Refusal(Outcome.ERROR, f"{reason}; the server has ended that session")

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        """Proves that the lock is held. PostgreSQL enforces no TTL, so there is nothing to prolong."""
        if (gone := self._lost(grant)) is not None:
            return Refusal(Outcome.LOST, gone)
        return self._prove() or replace(grant, ttl_ms=ttl_ms)

    def _release(self, grant: Grant) -> Released | Refusal:
        if (gone := self._lost(grant)) is not None:
            return Refusal(Outcome.LOST, gone)
        self._held = None
        try:
            self._transaction.commit(grant.handle)
        except SessionLost as lost:
            return Refusal(Outcome.UNKNOWN, f"the release was sent, and may have been carried out: {lost}")
        except StatementFailed as failed:
            return self._lose(str(failed))
        return RELEASED

    def execute(self, sql: str, *parameters: str) -> list[tuple[str | None, ...]]:
        """Run a statement as part of the transaction that holds the lock: carried out by the release, or not at all.

        Raises SessionLost, after which nothing of it is left, or StatementFailed, which the transaction does not
        survive. A statement may end the hold as well (COMMIT, an unlock): that is asked right after it, for `lost`.
        Names without a schema are PostgreSQL's own: `search_path` is `pg_catalog`.
        """
        return self._sole_use.alone(self._execute, sql, *parameters)

    def _execute(self, sql: str, *parameters: str) -> list[tuple[str | None, ...]]:
        if self._held is None:
            raise SessionLost("no grant is held, so there is no transaction to be part of")
        try:
            return self._transaction.session.execute(sql, *parameters, within_s=self.options.call_timeout_ms / 1000)
        finally:
            self._prove()

    def _prove(self) -> Refusal | None:
        """Ask whether the lock is held. If not, the refusal that says why."""
        try:
            self._transaction.prove()
        except (SessionLost, StatementFailed) as lost:
            return self._lose(str(lost))
        return None

    def _lost(self, grant: Grant) -> str | None:
        if self._held is None or self._held.owner != grant.owner:
            return "this grant is not the one that its session holds"
        if not self._transaction.session.alive():
            return self._lose("the connection is gone, and with it what its session held").reason
        if not self._transaction.standing():
            return self._lose("the transaction that held the lock has ended or failed").reason
        return None

    def _lose(self, reason: str) -> Refusal:
        """Give up the session: whatever the server made of it, its transaction ends with it."""
        if self._held is not None:
            self._held.fate.gone = self._held.fate.gone or reason
        self._held = None
        self._transaction.session.close()
        return Refusal(Outcome.LOST, reason)

    def _close(self) -> None:
        self._closed, self._held = True, None
        self._transaction.session.close()

    def _server_facts(self) -> ServerFacts:
        return server_facts(self._transaction.session, self.options.call_timeout_ms / 1000)
