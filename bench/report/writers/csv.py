"""Tidy CSV: one row a thing, plain numbers, units in the column names, empty where there is no number."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pandas as pd

_Row = TypeVar("_Row")


def csv_table(columns: Mapping[str, Callable[[_Row], object]], rows: Sequence[_Row]) -> str:
    """Columns by name, each with how the value of a row is made."""
    return csv([{name: value(row) for name, value in columns.items()} for row in rows], tuple(columns))


def csv(rows: Sequence[Mapping[str, object]], columns: Sequence[str] | None = None) -> str:
    """Rows by column name; `columns` are those that stand there even where there is no row."""
    return csv_of(pd.DataFrame(rows, columns=None if columns is None else list(columns)))


def csv_of(frame: pd.DataFrame) -> str:
    """Six significant digits: more than a histogram's bucket resolves, and the same text on every machine."""
    text: str = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return text
