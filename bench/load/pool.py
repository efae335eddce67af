"""Connections that all clients of a load process share, as an application's pool has them: fewer than clients.

Whoever asks for a connection while none is free waits in a queue, in the order of asking. A connection that comes back
is handed to the first of the queue, past anybody who asks at that moment: a client that has just given its connection
back does not take it again at once. Nobody polls.

A connection in the middle of a conversation, whose client was killed, is closed and never handed on. Its place stays in
the pool, and whoever gets the place opens a connection there.
"""

from collections import deque
from collections.abc import Callable
from time import monotonic_ns

from gevent.event import AsyncResult

from bench.systems.base import Grant, LockClient, Outcome, Refusal, Released
from bench.systems.wait import Wait

_NS_PER_MS = 1_000_000


class Pool:
    """`size` places of one load process, each with a connection or still without one.

    `connect` opens a connection, and raises ConnectionError where it cannot. Everything here belongs to one event loop.
    """

    def __init__(self, size: int, connect: Callable[[], LockClient]) -> None:
        self._connect = connect
        self._free: deque[LockClient | None] = deque([None] * size)  # None: a place without a connection
        self._waiting: deque[AsyncResult] = deque()
        self._members = 0

    def join(self) -> None:
        """One more client takes part. It opens a connection where a place has none. Raises ConnectionError."""
        self._members += 1
        if not self._free or self._free[-1] is not None:
            return
        self._free.pop()
        try:
            self.give_back(self._filled(None))
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """A client is gone. With the last one all connections are closed."""
        self._members -= 1
        if self._members:
            return
        ending, self._free = self._free, deque([None] * len(self._free))
        for connection in ending:
            if connection is not None:
                connection.close()

    def take(self, timeout_s: float) -> LockClient | None:
        """A connection for the caller alone; None where none came in time. Raises ConnectionError."""
        # While others wait no connection is free: what comes back goes to them.
        return self._filled(self._free.popleft()) if self._free else self._wait(timeout_s)

    def give_back(self, connection: LockClient | None) -> None:
        """The connection is another's now: of the first who waits. None: its place is empty."""
        if self._waiting:
            self._waiting.popleft().set((connection,))
        elif connection is None:
            self._free.append(None)  # last, so that places with a connection are used first
        else:
            self._free.appendleft(connection)

    def drop(self, connection: LockClient) -> None:
        """The connection was interrupted in the middle of something: it ends, and its place is free."""
        try:
            connection.close()
        finally:
            self.give_back(None)

    def _wait(self, timeout_s: float) -> LockClient | None:
        handed = AsyncResult()
        self._waiting.append(handed)
        try:
            handed.wait(timeout_s)
        except BaseException:  # killed
            if handed.ready():  # handed over, and this client's turn did not come any more
                self.give_back(*handed.value)
            else:
                self._waiting.remove(handed)
            raise
        if not handed.ready():
            self._waiting.remove(handed)
            return None
        return self._filled(*handed.value)

    def _filled(self, place: LockClient | None) -> LockClient:
        if place is not None:
            return place
        try:
            return self._connect()
        except BaseException:
            self.give_back(None)
            raise


class Borrower:
    """One client of a pool. It has a connection from before its acquire is sent until its release is answered.

    It is asked as a `LockClient` is. Waiting for a connection is part of an acquire, and of its timeout.
    """

    def __init__(self, pool: Pool) -> None:
        """Take part in the pool. Raises ConnectionError."""
        self._pool = pool
        self._connection: LockClient | None = None
        pool.join()

    def acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        """Wait for a connection, and then for the lock; both together `timeout_ms`."""
        asked_ns = monotonic_ns()
        try:
            connection = self._pool.take(timeout_ms / 1e3)
        except ConnectionError as refused:
            return Refusal(Outcome.ERROR, str(refused))
        if connection is None:
            return Refusal(Outcome.TIMEOUT, "no connection of the pool was free in time")
        self._connection = connection
        left_ms = max(0, timeout_ms - (monotonic_ns() - asked_ns) // _NS_PER_MS)
        answer = connection.acquire(key, ttl_ms, left_ms, wait)
        if not isinstance(answer, Grant):
            self._give_back(connection)
        return answer

    def release(self, grant: Grant) -> Released | Refusal:
        """Release through the connection that has the grant, and give that back."""
        connection = self._connection
        assert connection is not None, "it holds a grant"
        answer = connection.release(grant)
        self._give_back(connection)
        return answer

    def close(self) -> None:
        """Take part no more. A connection that this client still has was interrupted, and ends."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                self._pool.drop(connection)
        finally:
            self._pool.leave()

    def _give_back(self, connection: LockClient) -> None:
        self._connection = None
        self._pool.give_back(connection)
