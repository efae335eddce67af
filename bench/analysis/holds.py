"""What the events of a run say about the lock itself: did two clients hold one key, did tokens rise, did anybody wait.

Everything is vectorised over columns sorted once by key and instant: a million holds take a fraction of a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bench.records.packed import events_table, events_told, has_events
from bench.records.schema import ADDED_COLUMNS, AROUND_FILE

Column = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_ACQUIRED = "acquired"
_NO_TOKEN = -1
_NS_PER_MS = 1_000_000


def _none() -> Column:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Holds:
    """Every grant of a run, in order of key and then of the instant of its answer. Instants are monotonic ns.

    A client relies on the lock from the answer to its acquire until it *sends* its release: `held_until_ns`. Counting
    until the release is answered would report overlaps that are none, since the lock is free on the server before that.
    """

    client: Column
    key: Column
    started_ns: Column
    acquired_ns: Column
    held_until_ns: Column
    token: Column
    intended_ns: Column = field(default_factory=_none)
    freed_ns: Column = field(default_factory=_none)  # when the release was answered; empty: not recorded

    @classmethod
    def of(
        cls,
        client: Column,
        key: Column,
        started_ns: Column,
        acquired_ns: Column,
        held_until_ns: Column,
        token: Column,
        intended_ns: Column | None = None,
        freed_ns: Column | None = None,
    ) -> "Holds":
        """Sort columns that may be in any order. Without intended instants an operation was meant to start when it did.

        A hold that ended within its own nanosecond comes before another that began in it: the two do not overlap.
        """
        intended = started_ns if intended_ns is None else intended_ns
        freed = (_none() if freed_ns is None else freed_ns,)
        order = np.lexsort((token, held_until_ns, acquired_ns, key))
        columns = (client, key, started_ns, acquired_ns, held_until_ns, token, intended, *freed)
        return cls(*(values[order] if len(values) else values for values in columns))

    def __len__(self) -> int:
        return len(self.key)

    def where(self, which: "Mask") -> "Holds":
        """Some of them; a column that is not recorded stays empty."""
        columns = (getattr(self, one.name) for one in fields(self))
        return Holds(*(column[which] if len(column) else column for column in columns))


@dataclass(frozen=True, slots=True)
class Refused:
    """Every acquire of a run that got no lock, in any order; its answer may have been `busy`, `timeout`, ..."""

    key: Column = field(default_factory=_none)
    intended_ns: Column = field(default_factory=_none)
    started_ns: Column = field(default_factory=_none)
    answered_ns: Column = field(default_factory=_none)
    outcome: npt.NDArray[np.str_] = field(default_factory=lambda: np.zeros(0, dtype=np.str_))  # empty: nobody asks
    client: Column = field(default_factory=_none)  # empty likewise


@dataclass(frozen=True, slots=True)
class RunEvents:
    """The events of a run: how many there are of each outcome of the acquire, all holds, and from how many clients.

    `intended_ns` and `latency_ns` (from the intended instant to the answer) belong to the acquires that got the lock,
    in no particular order.
    """

    acquires: dict[str, int]
    holds: Holds
    clients: int
    intended_ns: Column = field(default_factory=_none)
    latency_ns: Column = field(default_factory=_none)
    refused: Refused = field(default_factory=Refused)

    def starved(self, clients: int) -> int:
        """How many of so many clients have no event: each waited from before the window until after it."""
        return max(0, clients - self.clients)


def read_events(path: Path) -> RunEvents:
    """Read events.parquet. Raises StoreError when it is not the file it should be."""
    return _events(events_table(path), path)


def read_whole(path: Path) -> RunEvents | None:
    """The same with the operations around the window, from the file beside it (see `AROUND_FILE`); None where there is
    none, as in older records. Raises StoreError."""
    around = path.with_name(AROUND_FILE)
    if not has_events(around):
        return None
    parts = [_plain(events_table(one)) for one in (path, around)]
    return _events(pa.concat_tables(parts), path)


def _plain(table: pa.Table) -> pa.Table:
    """Of two files words have unlike codes, and numbers may be packed unlike."""
    return pa.table(
        {
            name: table[name].cast("string" if name in ("outcome", "released") else "int64")
            for name in table.column_names
        }
    )


def _events(table: pa.Table, path: Path) -> RunEvents:
    with events_told(path):
        outcomes = pc.value_counts(table["outcome"].cast("string")).to_pylist()
        is_grant = pc.equal(table["outcome"].cast("string"), _ACQUIRED)
        granted, refused = table.filter(is_grant), table.filter(pc.invert(is_grant))
        names = ["client", "key", "started_ns", "acquired_ns", "released_ns", "token", "intended_ns"]
        holds = Holds.of(*_columns(granted, [*names, *(name for name in ADDED_COLUMNS if name in table.column_names)]))
        intended_ns, acquired_ns = _columns(granted, ["intended_ns", "acquired_ns"])
        return RunEvents(
            {str(item["values"]): int(item["counts"]) for item in outcomes},
            holds,
            int(pc.count_distinct(table["client"]).as_py()),
            intended_ns,
            acquired_ns - intended_ns,
            _refused(refused),
        )


def _refused(table: pa.Table) -> Refused:
    names = ["key", "intended_ns", "started_ns", "acquired_ns", "client"]
    key, intended_ns, started_ns, answered_ns, client = _columns(table, names)
    outcome = np.array(table["outcome"].cast("string").to_pylist(), dtype=np.str_)
    return Refused(key, intended_ns, started_ns, answered_ns, outcome, client)


def _columns(table: pa.Table, names: Sequence[str]) -> list[Column]:
    return [table[name].to_numpy().astype(np.int64) for name in names]


def overlaps(holds: Holds, lease_ms: int | None = None) -> Mask:
    """For each hold, whether it began while an earlier one of the same key still lasted.

    With `lease_ms` a hold lasts no longer than its lease, counted from the sending of its request: what still overlaps
    then is no client that overstayed, but a lock that was given twice. Linear in the number of holds.
    """
    if not len(holds):
        return np.zeros(0, dtype=np.bool_)
    ends_ns = holds.held_until_ns
    if lease_ms is not None:
        ends_ns = np.minimum(ends_ns, holds.started_ns + lease_ms * _NS_PER_MS)
    before_ns = _latest_end_before(holds, ends_ns)
    return before_ns > holds.acquired_ns


def token_regressions(holds: Holds) -> Mask:
    """For each hold, whether its token is not above that of the hold before it on the same key.

    Only holds that began after all earlier ones of their key had ended are judged: which of two overlapping holds came
    first the instants do not say. Holds without a token are not judged. Adjacent holds are enough, since a sequence
    that does not rise somewhere does not rise between two neighbours.
    """
    if not len(holds):
        return np.zeros(0, dtype=np.bool_)
    judged = ~overlaps(holds)
    judged[1:] &= holds.key[1:] == holds.key[:-1]
    judged[0] = False
    judged[1:] &= (holds.token[1:] != _NO_TOKEN) & (holds.token[:-1] != _NO_TOKEN)
    falls = np.zeros(len(holds), dtype=np.bool_)
    falls[1:] = holds.token[1:] <= holds.token[:-1]
    return falls & judged


def waited(holds: Holds) -> Mask:
    """For each hold, whether its client asked for the key while another still held it."""
    if not len(holds):
        return np.zeros(0, dtype=np.bool_)
    return _latest_end_before(holds, holds.held_until_ns) > holds.started_ns


def _latest_end_before(holds: Holds, ends_ns: Column) -> Column:
    """For each hold the latest end of all earlier holds of its key; the smallest instant of all where there is none."""
    origin_ns = min(holds.started_ns.min(), holds.acquired_ns.min())
    span_ns = max(ends_ns.max(), holds.acquired_ns.max()) - origin_ns + 1
    rank = np.zeros(len(holds), dtype=np.int64)
    rank[1:] = np.cumsum(holds.key[1:] != holds.key[:-1])
    # Each key's instants are moved into a stretch of their own, above those of all keys before it, so that one running
    # maximum over everything is a running maximum within each key.
    if int(rank[-1] + 1) * int(span_ns) > np.iinfo(np.int64).max:
        raise OverflowError(f"{rank[-1] + 1} keys over {span_ns / 1e9:.0f} s are too many for one pass")
    lifted = ends_ns - origin_ns + rank * span_ns
    latest = np.zeros(len(holds), dtype=np.int64)
    latest[1:] = np.maximum.accumulate(lifted)[:-1]
    before_ns: Column = np.maximum(latest - rank * span_ns, 0) + origin_ns
    return before_ns
