"""An advisory lock of the session as a lock: a number in the server's memory, freed when the session ends.

The client is that of `postgres_row`, down to what it does about a session that is gone or silent: there as here, what
holds the lock is a session of the server. No clock is involved, and no TTL.
"""

from dataclasses import replace
from typing import ClassVar

from bench.systems.base import Capabilities
from bench.systems.postgres_advisory.hold import STATEMENTS, AdvisoryHold
from bench.systems.postgres_row.connect import connect
from bench.systems.postgres_row.lock import PostgresRowLock


class PostgresAdvisoryLock(PostgresRowLock):
    """Holds at most one grant at a time. A session could hold more, and would be let in twice where it holds already:
    PostgreSQL counts how often a session has taken a number, and grants it again.
    """

    capabilities: ClassVar[Capabilities] = replace(
        PostgresRowLock.capabilities,
        fencing_source="sequence, drawn while the lock is held",
        # The lock manager wakes the first of its queue and lets no newcomer pass those who wait.
        queue_order="fifo",
        durability="none: locks are in the server's memory, and a restart frees them all",
        release_durable_writes=0,
        # Taking the lock writes nothing either, but for one grant in 33, whose token moves the sequence's log.
        durable_when=(),
    )

    def _connect(self) -> None:
        self._session = connect(self.endpoint, self.options, STATEMENTS, self._session)
        self._transaction = AdvisoryHold(self._session, self.options.call_timeout_ms)
