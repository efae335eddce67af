"""What every way of doing a job shares: a session of its own at the database, and how a job may end.

A job reads a record, computes for a while, and writes the record. Each way is one small file with its own SQL, as an
application would have it; its lines are counted and printed.
"""

import inspect
import io
import time
import tokenize
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar, NamedTuple

from bench.jobs.records import open_session
from bench.records.workload import CONSUME, UPDATE
from bench.servers.endpoint import Endpoint
from bench.systems.base import Outcome, Refusal
from bench.systems.postgres_row.session import Command, SessionLost, StatementFailed, failed
from bench.systems.wait import Wait

_CANCELED = "57014"  # by statement_timeout
_BEYOND_A_WAIT_S = 2.0
_NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)

Row = Sequence[int]


class Done(NamedTuple):
    """The job is done, and `retries` attempts before did not count."""

    retries: int = 0
    outcome: Outcome = Outcome.ACQUIRED


@dataclass(frozen=True, slots=True)
class Work:
    """What is done between reading and writing; `pause_s` waits, without keeping others from their turn."""

    workload: str
    compute_s: float
    pause_s: Callable[[float], None]

    def of(self, value: int) -> int | None:
        """Compute the new value of a record; None where there is nothing to do: the message was consumed before."""
        if self.workload == CONSUME and value:
            return None
        if self.compute_s:
            self.pause_s(self.compute_s)
        return value + 1


class Way(ABC):
    """One client's way of doing jobs. `statements` are its SQL by name; a record's index is always `$1`."""

    workloads: ClassVar[tuple[str, ...]] = (UPDATE, CONSUME)
    statements: ClassVar[Mapping[str, str]]

    def __init__(self, endpoint: Endpoint, schema: str, work: Work, wait: Wait, timeout_ms: int) -> None:
        self.work, self.wait, self.timeout_s = work, wait, timeout_ms / 1e3
        self._within_s = self.timeout_s + _BEYOND_A_WAIT_S
        self._session = open_session(endpoint, schema, self._within_s, timeout_ms)
        self._session.prepare({name.encode(): sql.encode() for name, sql in self._all().items()}, self._within_s)

    @abstractmethod
    def do(self, record: int) -> Done | Refusal:
        """One job. Raises StatementFailed or SessionLost."""

    def run(self, record: int) -> Done | Refusal:
        """One job, its failures as outcomes."""
        try:
            try:
                return self.do(record)
            except StatementFailed as refused:
                self._session.call((b"rollback", ()), within_s=self._within_s)
                return Refusal(Outcome.TIMEOUT if refused.sqlstate == _CANCELED else Outcome.ERROR, str(refused))
        except SessionLost as lost:
            return Refusal(Outcome.UNKNOWN, f"the job may have been done: {lost}")

    def ask(self, *statements: tuple[str | int, ...]) -> Sequence[Row]:
        """Run prepared statements, each a name and its parameters, in one round trip; the rows of all of them.

        What is not in a transaction of its own is one transaction. Raises StatementFailed or SessionLost.
        """
        commands: list[Command] = [
            (str(name).encode(), [str(one).encode() for one in values]) for name, *values in statements
        ]
        results = self._session.call(*commands, within_s=self._within_s)
        for result in results:
            if failed(result):
                raise StatementFailed(result)
        return [
            [int(result.get_value(row, column) or b"") for column in range(result.nfields)]
            for result in results
            for row in range(result.ntuples)
        ]

    def close(self) -> None:
        """End the session; a transaction that is open is rolled back."""
        self._session.close()

    def is_late(self, began_s: float) -> bool:
        """Is the time over that a job may take?"""
        return time.monotonic() - began_s > self.timeout_s

    def _all(self) -> Mapping[str, str]:
        return {"begin": "BEGIN", "commit": "COMMIT", "rollback": "ROLLBACK", **self.statements}


def lines_of(module: ModuleType) -> int:
    """Lines of code of a module: those that hold more than comments, docstrings and blanks."""
    return count_lines(inspect.getsource(module))


def count_lines(source: str) -> int:
    """The same of its text."""
    found: set[int] = set()
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _NO_CODE:
            begins = begins or token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            continue
        # A string on its own is a docstring: a statement that begins with one and has nothing after it.
        if not (begins and token.type == tokenize.STRING):
            found.update(range(token.start[0], token.end[0] + 1))
        begins = False
    return len(found)
