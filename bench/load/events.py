"""events.parquet: one row an operation, from the raw rows of all load processes."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.load.rows import NOTHING_HELD, OUTCOMES, Rows, column
from bench.records.schema import ADDED_COLUMNS, EVENT_COLUMNS

_WORDS = [str(outcome) for outcome in OUTCOMES]
_NOTHING_WORD = ""  # of the column `released` where nothing was held
_SMALL = ("client", "key")


def write_events(path: Path, rows: Rows) -> None:
    """Write the file whole or not at all. Raises OSError."""
    columns = {name: _arrow(name, rows) for name in (*EVENT_COLUMNS, *ADDED_COLUMNS)}
    aside = path.with_name(f".{path.name}.new")
    try:
        numbers = [name for name, values in columns.items() if pa.types.is_integer(values.type)]
        pq.write_table(
            pa.table(columns),
            aside,
            compression="zstd",
            use_dictionary=[name for name in columns if name not in numbers],
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),  # neighbouring instants differ by little
        )
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def _arrow(name: str, rows: Rows) -> pa.Array:
    values = column(rows, name)
    if name == "outcome":
        return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int8)), _WORDS)
    if name == "released":
        codes = np.where(values == NOTHING_HELD, len(_WORDS), values)
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), [*_WORDS, _NOTHING_WORD])
    return pa.array(values.astype(np.int32) if name in _SMALL else values)
