"""Optimism: nothing is locked, and a write counts only if the row still has the version that was read."""

import time
from itertools import repeat
from typing import ClassVar

from bench.jobs.way import Done, Way
from bench.systems.base import Outcome, Refusal


class RowVersion(Way):
    """Whoever finds another version begins again, after the pauses of its wait strategy. Two round trips an attempt."""

    statements: ClassVar = {
        "read": "SELECT value, version FROM records WHERE record = $1",
        "write": """UPDATE records SET value = $2, version = version + 1, writes = writes + 1
            WHERE record = $1 AND version = $3 RETURNING version""",
    }

    def do(self, record: int) -> Done | Refusal:
        """One job, in as many attempts as it takes."""
        began_s = time.monotonic()
        pauses_s = self.wait.pauses_s() if self.wait.interval_ms else repeat(0.0)
        for retries, pause_s in enumerate(pauses_s):
            ((value, version),) = self.ask(("read", record))
            new = self.work.of(value)
            if new is None or self.ask(("write", record, new, version)):
                return Done(retries)
            if self.is_late(began_s):
                break
            if pause_s:
                self.work.pause_s(pause_s)
        return Refusal(Outcome.TIMEOUT, f"others were quicker for {self.timeout_s:g} s")
