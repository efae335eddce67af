"""The recorder of one load process: what every operation did, in nanoseconds, with nothing silently dropped.

Between an operation's clock reads nothing of this file runs. After it, one row is packed: `record` takes 0.2-0.5 µs,
call included, on the machine where this was written. Histograms are made of whole blocks of rows at once with numpy
(`fold`: 0.13 µs a row), which happens when a report is due or, while measuring alone, after the window.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.load.rows import NOTHING_HELD, OUTCOMES, PACK_ROW, ROW_BYTES, Rows, as_rows, column
from bench.records.histogram import SIGNIFICANT_BITS, LatencyHistogram

# Reasons can hold ports, ids and instants. Past this many different ones the rest is counted together, not dropped.
REASONS_MAX = 100
OTHER_REASONS = "(other reasons)"
_FOLD_EVERY_ROWS = 4096


@dataclass(slots=True)
class Tally:
    """Counts that can be added up: of one process since its last report, or of all processes together.

    `histograms` and `counts` go by "phase/outcome".
    """

    histograms: dict[str, LatencyHistogram] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    aborted: int = 0
    unsent: int = 0

    def add(self, other: "Tally") -> None:
        """Merge, exactly: histograms are added bucket by bucket, never averaged."""
        for name, histogram in other.histograms.items():
            self.histogram(name).add(histogram)
        self.counts.update(other.counts)
        for reason, count in other.errors.items():
            self.add_error(reason, count)
        self.aborted += other.aborted
        self.unsent += other.unsent

    def add_error(self, reason: str, count: int = 1) -> None:
        """Count a reason, under its own name while there are few different ones."""
        known = reason in self.errors or len(self.errors) < REASONS_MAX
        self.errors[reason if known else OTHER_REASONS] += count

    def histogram(self, name: str) -> LatencyHistogram:
        """The histogram of one "phase/outcome", made when first asked for."""
        return self.histograms.setdefault(name, LatencyHistogram())

    def to_message(self) -> dict[str, Any]:
        """As nested dictionaries with text keys only: msgpack hands tuples and numbers back as something else."""
        return {
            "histograms": {
                name: {str(edge): count for edge, count in histogram.counts.items()}
                for name, histogram in self.histograms.items()
            },
            "counts": dict(self.counts),
            "errors": dict(self.errors),
            "aborted": self.aborted,
            "unsent": self.unsent,
        }

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> "Tally":
        """What `to_message` wrote. Raises KeyError or ValueError when it is something else."""
        return cls(
            {
                name: LatencyHistogram({int(edge): count for edge, count in counts.items()})
                for name, counts in message["histograms"].items()
            },
            Counter(message["counts"]),
            Counter(message["errors"]),
            message["aborted"],
            message["unsent"],
        )


class Recorder:
    """All operations of one system in one process."""

    def __init__(self, keep_rows: bool) -> None:
        self._keep_rows = keep_rows
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._packed = bytearray()
        self._folded_bytes = 0
        self._unfolded = 0
        self._since_report = Tally()
        self.totals: Counter[str] = Counter()  # never sent as a difference: the master holds its own sum against these
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
        self._unfolded += 1
        if not self._keep_rows and self._unfolded >= _FOLD_EVERY_ROWS:
            self.fold()  # an unbounded run must not grow; 4096 rows take under a millisecond

    def add_error(self, reason: str) -> None:
        """Count why an operation failed, beside its row."""
        self._since_report.add_error(reason)

    def abort(self, operations: int = 1) -> None:
        """Count operations that were cut off: neither success nor failure, so they have no row."""
        self.aborted += operations
        self._since_report.aborted += operations

    def miss(self, arrivals: int) -> None:
        """Count arrivals that no client was free to send: they have no row either."""
        self.unsent += arrivals
        self._since_report.unsent += arrivals

    def fold(self) -> None:
        """Bring the histograms and counts up to the last row."""
        if self._unfolded:
            rows = as_rows(bytes(self._packed[self._folded_bytes :]))
            counted = Tally()
            _count_phases(rows, counted)
            self._since_report.add(counted)
            self.totals.update(counted.counts)
            self._folded_bytes += self._unfolded * ROW_BYTES
            self._unfolded = 0
        if not self._keep_rows:
            self._packed.clear()
            self._folded_bytes = 0

    def take(self) -> Tally:
        """What happened since the last call, for a report."""
        self.fold()
        taken, self._since_report = self._since_report, Tally()
        return taken

    @property
    def acquires(self) -> int:
        """How many acquires were recorded since the last reset, whatever their outcome."""
        self.fold()
        return sum(count for name, count in self.totals.items() if name.startswith("acquire/"))

    @property
    def packed_rows(self) -> bytes:
        """Every row since the last reset, if rows are kept."""
        return bytes(self._packed)


def _count_phases(rows: Rows, into: Tally) -> None:
    outcome, released = column(rows, "outcome"), column(rows, "released")
    started, answered = column(rows, "started_ns"), column(rows, "acquired_ns")
    sent, freed = column(rows, "released_ns"), column(rows, "freed_ns")
    for code in np.unique(outcome):
        which = outcome == code
        word = OUTCOMES[code]
        _count(into, f"acquire/{word}", (answered - started)[which])
        _count(into, f"response/{word}", (answered - column(rows, "intended_ns"))[which])
    for code in np.unique(released):
        if code != NOTHING_HELD:
            which = released == code
            word = OUTCOMES[code]
            _count(into, f"hold/{word}", (sent - answered)[which])
            _count(into, f"release/{word}", (freed - sent)[which])


def _count(into: Tally, name: str, values_ns: npt.NDArray[np.int64]) -> None:
    edges, counts = np.unique(bucket_all_ns(values_ns), return_counts=True)
    into.histogram(name).counts.update(dict(zip(edges.tolist(), counts.tolist(), strict=True)))
    into.counts[name] += len(values_ns)


def bucket_all_ns(values_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """`bench.records.histogram.bucket_ns` of every value. ValueError when one is negative: a clock went wrong."""
    if len(values_ns) and values_ns.min() < 0:
        raise ValueError(f"{values_ns.min()} ns is negative: a clock went wrong")
    # frexp gives the bit length of every integer that a float64 holds exactly, which is up to 104 days in nanoseconds.
    bits = np.frexp(values_ns.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - SIGNIFICANT_BITS, 0)
    return values_ns >> shift << shift
