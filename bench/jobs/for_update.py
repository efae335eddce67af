"""The database's own lock on the row: the transaction that reads it keeps it until it has written."""

from typing import ClassVar

from bench.jobs.way import Done, Way


class ForUpdate(Way):
    """Whoever comes later waits at the row, in the database. Two round trips."""

    statements: ClassVar = {
        "read": "SELECT value FROM records WHERE record = $1 FOR UPDATE",
        "write": "UPDATE records SET value = $2, writes = writes + 1 WHERE record = $1",
    }

    def do(self, record: int) -> Done:
        """One job."""
        ((value,),) = self.ask(("begin",), ("read", record))
        new = self.work.of(value)
        if new is None:
            self.ask(("rollback",))
        else:
            self.ask(("write", record, new), ("commit",))
        return Done()
