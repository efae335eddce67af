"""The raw record of operations: fixed-width rows of ten 64-bit integers, cheap to append and to read back as an array.

A load process appends rows while it measures and writes them to a file when its window is over; the process that
started it turns them into events.parquet. Packing a row into a bytearray costs 0.12 µs here, against 0.38 µs for
`array.extend` and 0.7 µs for counting four histogram buckets at once; and it leaves nothing for the garbage collector
to walk over.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.records.schema import STRANGERS
from bench.systems.base import Outcome

# Those of events.parquet, `EVENT_COLUMNS` and `ADDED_COLUMNS`.
COLUMNS = (
    "client",
    "key",
    "intended_ns",
    "started_ns",
    "acquired_ns",  # when the acquire was answered, whatever the answer
    "released_ns",  # when the release was *sent*: from then on the client does not rely on the lock any more
    "freed_ns",
    "outcome",
    "released",
    "token",
)
OUTCOMES: tuple[Outcome, ...] = tuple(Outcome)
CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}
NOTHING_HELD = -1  # in column `released`
NO_TOKEN = -1

PACK_ROW = struct.Struct(f"={len(COLUMNS)}q").pack
ROW_BYTES = struct.calcsize(f"={len(COLUMNS)}q")

Rows = npt.NDArray[np.int64]


def as_rows(packed: bytes) -> Rows:
    """Packed rows as an array of shape (rows, columns)."""
    return np.frombuffer(packed, dtype=np.int64).reshape(-1, len(COLUMNS))


def column(rows: Rows, name: str) -> npt.NDArray[np.int64]:
    return rows[:, COLUMNS.index(name)]


def by_population(rows: Rows, strangers_from: int | None) -> Iterator[tuple[str, Rows]]:
    """The rows of the clients that meet, and those of strangers, each with what the names of its phases begin with.

    `strangers_from` is the lowest key number of a stranger; None where there are none.
    """
    if strangers_from is None:
        yield "", rows
        return
    strange = column(rows, "key") >= strangers_from
    yield "", rows[~strange]
    yield STRANGERS, rows[strange]


def read_rows(paths: list[Path]) -> Rows:
    """The rows of all load processes, in order of their start. Raises OSError."""
    rows = as_rows(b"".join(path.read_bytes() for path in paths))
    return rows[np.argsort(column(rows, "started_ns"), kind="stable")]
