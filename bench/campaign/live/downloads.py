"""The files that the page hands out of a session that was kept: in the campaign's folder, beside its runs."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.live_seconds import FOLDER, SECONDS_FILE
from bench.records.packed import events_table
from bench.records.schema import RunState
from bench.records.store import CampaignFolder

Draw = Callable[[CampaignFolder], Mapping[str, bytes]]  # a figure of the session, by the ending of the file: svg, png
_OPERATIONS_FILE = "operations.parquet"


def write_seconds(folder: CampaignFolder, content: bytes) -> Path:
    """What the page showed. Raises OSError."""
    place = folder.path / FOLDER
    place.mkdir(exist_ok=True)
    path = place / SECONDS_FILE
    path.write_bytes(content)
    return path


def write_operations(folder: CampaignFolder) -> Mapping[str, Path]:
    """All operations in one file, with a column that says whose they are: of one system, its own file is that.

    Empty where no run has any. Raises OSError, and StoreError.
    """
    runs = [run for run in folder.runs() if run.state is not RunState.FAILED]
    if len(runs) <= 1:
        return {"parquet": runs[0].events_path} if runs else {}
    path = folder.path / FOLDER / _OPERATIONS_FILE
    writer: pq.ParquetWriter | None = None
    try:
        for run in runs:
            table = _named(events_table(run.events_path), run.plan.system)
            writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return {"parquet": path}


def write_figure(folder: CampaignFolder, draw: Draw) -> Mapping[str, Path]:
    """The figure, in each form. Raises OSError."""
    place = folder.path / FOLDER
    found = {}
    for ending, content in draw(folder).items():
        found[ending] = place / f"session.{ending}"
        found[ending].write_bytes(content)
    return found


def _named(table: pa.Table, system: str) -> pa.Table:
    """Words as texts: of two files they have unlike codes."""
    columns = {
        name: table[name].cast("string") if pa.types.is_dictionary(table[name].type) else table[name]
        for name in table.column_names
    }
    return pa.table({"system": pa.array([system] * len(table), "string"), **columns})
