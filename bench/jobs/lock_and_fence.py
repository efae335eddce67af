"""A lock of any system, and a fence at the row: it refuses the writes of a holder whose lock has become another's."""

from collections.abc import Callable
from typing import Any, ClassVar

from bench.jobs.way import Done, Way
from bench.systems.base import Grant, Outcome, Refusal, Released

Acquire = Callable[[int], Grant | Refusal]
Release = Callable[[Grant], Released | Refusal]


class LockAndFence(Way):
    """The holder shows its token in one step with its read, so that from then on no older holder can write.

    Two round trips beside those of the lock. A system without tokens cannot be fenced: it only reads.
    """

    statements: ClassVar = {
        "present": "UPDATE records SET highest = $2 WHERE record = $1 AND highest <= $2 RETURNING value",
        "read": "SELECT value FROM records WHERE record = $1",
        "write": """UPDATE records SET value = $2, writes = writes + 1
            WHERE record = $1 AND highest <= $3 RETURNING value""",
    }

    def __init__(self, *session: Any, acquire: Acquire, release: Release) -> None:
        super().__init__(*session)
        self._acquire, self._release = acquire, release

    def do(self, record: int) -> Done | Refusal:
        """One job."""
        grant = self._acquire(record)
        if isinstance(grant, Refusal):
            return grant
        try:
            token = grant.token or 0
            rows = self.ask(("present", record, token) if token else ("read", record))
            new = self.work.of(rows[0][0]) if rows else 0
            if rows and new is not None:
                rows = self.ask(("write", record, new, token))
        finally:
            self._release(grant)
        return Done() if rows else Refusal(Outcome.LOST, "the fence refused this token: a later holder was there")
