"""A key for each message: its effect and the note that it is done are one statement, which a repeat leaves without."""

from typing import ClassVar

from bench.jobs.way import Done, Way
from bench.records.workload import CONSUME


class IdempotencyKey(Way):
    """A message that is delivered twice is computed twice, and takes effect once. One round trip.

    It makes a repeat harmless, and puts nothing in order: two different updates of one record may yet overwrite each
    other, so it is a way to consume and none to update.
    """

    workloads = (CONSUME,)
    statements: ClassVar = {
        "write": """WITH first AS (INSERT INTO seen VALUES ($1) ON CONFLICT DO NOTHING RETURNING message)
            UPDATE records SET value = $2, writes = writes + 1 FROM first WHERE record = first.message"""
    }

    def do(self, record: int) -> Done:
        """One job."""
        self.ask(("write", record, self.work.of(0) or 0))
        return Done()
