"""A planted fault: read, compute, write, and nothing that keeps two writers apart. It loses updates."""

from typing import ClassVar

from bench.jobs.way import Done, Way


class Unguarded(Way):
    """What a program without any guard does. Two round trips."""

    statements: ClassVar = {
        "read": "SELECT value FROM records WHERE record = $1",
        "write": "UPDATE records SET value = $2, writes = writes + 1 WHERE record = $1",
    }

    def do(self, record: int) -> Done:
        """One job."""
        ((value,),) = self.ask(("read", record))
        if (new := self.work.of(value)) is not None:
            self.ask(("write", record, new))
        return Done()
