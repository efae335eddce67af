"""The recorder of one load process: what every operation did, in nanoseconds, with nothing silently dropped.

Between an operation's clock reads nothing of this file runs. After it, one row is packed: `record` takes 0.2-0.5 µs,
call included, on the machine where this was written. The rows are the record: whoever wants to know how long something
took asks them, after the window. The process counts its own rows besides, so that a loss on their way is seen.
"""

from collections import Counter, deque
from typing import Any

import numpy as np

from bench.load.rows import NOTHING_HELD, OUTCOMES, PACK_ROW, Rows, as_rows, by_population, column

# Reasons can hold ports, ids and instants. Past this many different ones the rest is counted together, not dropped.
REASONS_MAX = 100
OTHER_REASONS = "(other reasons)"
_FORGET_EVERY_ROWS = 4096
_SHOWN_AT_MOST = 256  # times so many rows wait for whoever shows them; 84 MB
_PHASES = {"outcome": ("acquire", "response"), "released": ("hold", "release")}  # by the column that has their outcome


class Recorder:
    """All operations of one system in one process. `strangers_from` is the lowest key number of a stranger, if any.

    Rows that are not kept are forgotten now and then; if they are `shown`, whoever shows them takes them before that.
    """

    def __init__(self, keep_rows: bool, strangers_from: int | None = None, shown: bool = False) -> None:
        self._keep_rows, self._strangers_from, self._shown = keep_rows, strangers_from, shown
        self._untaken: deque[bytes] = deque(maxlen=_SHOWN_AT_MOST)
        self._before = _nothing()
        self._clear()

    def reset(self) -> None:
        """Forget everything, but for rows that somebody will take and the sums since the beginning."""
        if self._shown:
            self._forget()
            self._before = self.since_begin()
        self._clear()

    def since_begin(self) -> dict[str, Any]:
        """What was counted, whatever was reset, of a recorder whose rows are shown."""
        now = {"counts": self.counts(), "errors": self.errors, "aborted": self.aborted, "unsent": self.unsent}
        return {name: self._before[name] + value for name, value in now.items()}

    def _clear(self) -> None:
        self._packed = bytearray()
        self._rows = 0
        self._forgotten: Counter[str] = Counter()  # of rows that were not kept
        self.errors: Counter[str] = Counter()
        self.aborted = 0
        self.unsent = 0

    def record(
        self,
        client: int,
        key: int,
        intended_ns: int,
        started_ns: int,
        answered_ns: int,
        released_ns: int,
        freed_ns: int,
        outcome: int,
        released: int,
        token: int,
    ) -> None:
        """Keep one finished operation. Instants are monotonic ns; outcomes are codes of `bench.load.rows`."""
        self._packed += PACK_ROW(
            client, key, intended_ns, started_ns, answered_ns, released_ns, freed_ns, outcome, released, token
        )
        self._rows += 1
        if not self._keep_rows and self._rows >= _FORGET_EVERY_ROWS:
            self._forget()  # an unbounded run must not grow; 4096 rows take under a millisecond

    def add_error(self, reason: str) -> None:
        """Count why an operation failed, beside its row."""
        add_error(self.errors, reason)

    def abort(self, operations: int = 1) -> None:
        """Count operations that were cut off: neither success nor failure, so they have no row."""
        self.aborted += operations

    def miss(self, arrivals: int) -> None:
        """Count arrivals that no client was free to send: they have no row either."""
        self.unsent += arrivals

    def counts(self) -> Counter[str]:
        """How many operations were recorded since the last reset, by "phase/outcome"."""
        return self._forgotten + count_rows(as_rows(bytes(self._packed)), self._strangers_from)

    def take(self) -> bytes:
        """The rows since the last call, of a recorder whose rows are shown: then they are forgotten."""
        self._forget()
        taken = b"".join(self._untaken)
        self._untaken.clear()
        return taken

    def _forget(self) -> None:
        packed = bytes(self._packed)
        self._forgotten += count_rows(as_rows(packed), self._strangers_from)
        if self._shown and packed:
            self._untaken.append(packed)
        self._packed.clear()
        self._rows = 0

    @property
    def packed_rows(self) -> bytes:
        """Every row since the last reset, if rows are kept."""
        return bytes(self._packed)


def _nothing() -> dict[str, Any]:
    return {"counts": Counter[str](), "errors": Counter[str](), "aborted": 0, "unsent": 0}


def add_error(errors: Counter[str], reason: str, count: int = 1) -> None:
    """Count a reason, under its own name while there are few different ones."""
    known = reason in errors or len(errors) < REASONS_MAX
    errors[reason if known else OTHER_REASONS] += count


def acquires(counts: Counter[str]) -> int:
    """Of all outcomes together."""
    return sum(count for name, count in counts.items() if name.startswith("acquire/"))


def count_rows(rows: Rows, strangers_from: int | None = None) -> Counter[str]:
    """How many rows there are, by "phase/outcome"; strangers have phases of their own."""
    found: Counter[str] = Counter()
    for whose, part in by_population(rows, strangers_from):
        for name, phases in _PHASES.items():
            codes, counts = np.unique(column(part, name), return_counts=True)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                if code != NOTHING_HELD:
                    found.update({f"{whose}{phase}/{OUTCOMES[code]}": count for phase in phases})
    return found
