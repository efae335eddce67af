"""The records of a packed campaign's runs: one Parquet file, a row for each run, a column for each phase.

A record is kept as the JSON that its run's folder held, to the byte: nothing is lost, and nothing has to be converted
when a record gains a field.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

RUNS_FILE = "runs.parquet"
_ID = "run_id"
_PAGE_BYTES = 8 << 20  # like records lie in one page, where they compress well
_LEVEL = 19


class PackedRuns:
    """Read when asked, a phase at a time: most questions are about plans, and histories are long."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._phases: dict[str, Mapping[str, str]] = {}

    def text(self, run_id: str, phase: str) -> str | None:
        """The record of a run as JSON; None where it has none, or nothing is packed. Raises OSError or ValueError."""
        if phase not in self._phases:
            self._phases[phase] = self._read(phase) if self._path.exists() else {}
        return self._phases[phase].get(run_id)

    def _read(self, phase: str) -> Mapping[str, str]:
        import pyarrow.parquet as pq  # here, since every command starts by way of this module, and few read a pack

        file = pq.ParquetFile(self._path)
        if _ID not in file.schema_arrow.names:
            raise ValueError(f"it has no column {_ID}")
        if phase not in file.schema_arrow.names:
            return {}
        table = file.read(columns=[_ID, phase])
        texts = zip(table[_ID].to_pylist(), table[phase].to_pylist(), strict=True)
        return {run_id: text for run_id, text in texts if text is not None}


def write_packed_runs(path: Path, phases: Sequence[str], runs: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Write the records of runs, each with its id and its JSON by phase; the columns in the order of `phases`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{_ID: run_id, **records} for run_id, records in runs]
    there = [phase for phase in phases if any(phase in row for row in rows)]
    schema = pa.schema([(_ID, pa.string()), *((phase, pa.large_string()) for phase in there)])
    pq.write_table(
        pa.Table.from_pylist(rows, schema),
        path,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=False,
        write_statistics=False,
        data_page_size=_PAGE_BYTES,
        row_group_size=max(1, len(rows)),
    )
