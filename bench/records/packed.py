"""A campaign that is committed or handed on: a handful of files instead of a folder for each run.

    campaign.json, environment.json, ...   as they were
    runs.parquet                           every run's records (`bench.records.packed_runs`)
    events.parquet                         every run's events, of a campaign of load; a third of their size
    around.parquet                         the same of operations around the windows, of the runs that have such

`python -m bench.records.packed FROM TO` packs a campaign of either kind, without its logs; `--unpack` undoes it.

A row of a run's events has five instants of its operation, of which one is new and four lie just behind it. So the
packed form has the gap to the operation before, and four lengths; their bytes are stored apart (all high bytes
together), since low bytes are noise and high ones are not. Instants are rounded down to one grid of 100 ns: what came
first stays first, and what did not overlap does not. That is less than a hundredth of the quickest operation here, and
all that a run's own record says was computed before. There is a row group for each run, in the order of the ids in the
file's metadata.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.packed_runs import RUNS_FILE, write_packed_runs
from bench.records.schema import ADDED_COLUMNS, AROUND_FILE, EVENT_COLUMNS
from bench.records.store import (
    GET_AGAIN,
    PHASES,
    CampaignFolder,
    HazardFolder,
    HazardRunFolder,
    RunFolder,
    StoreError,
    is_file,
)

GRID_NS = 100
_RUNS = b"lockbench_runs"  # in the file's metadata; no other file has it
_INSTANTS = ("intended_ns", "started_ns", "acquired_ns", "released_ns")
_LENGTHS = ("gap", "late", "wait", "held")
_ADDED_LENGTH = "freeing"  # of the release; older campaigns lack it
_WHOLE = ("client", "key", "token")
_WORDS = ("outcome", "released")
_NOT_HELD = -1
_MAGIC = b"PAR1"  # at both ends of a Parquet file
_LEVEL = 19

_Integers = npt.NDArray[np.int64]


def events_table(path: Path) -> pa.Table:
    """The events of a run by the columns of `EVENT_COLUMNS`: from its own file, or from its packed campaign's.

    Raises StoreError.
    """
    with events_told(path):
        file = _file_of(path)
        table = pq.read_table(path) if file == path else _part(file, path.parent.name)
        missing = [name for name in EVENT_COLUMNS if name not in table.column_names]
        if missing:
            raise ValueError(f"it has no column {', '.join(missing)}")
        return table


def has_events(path: Path) -> bool:
    """Is there such a file, or does the packed campaign have this run's part of it? Raises StoreError."""
    file = _file_of(path)
    if file == path:
        return path.exists()
    with events_told(path):
        return path.parent.name in _runs_in(pq.read_schema(file))


def require_whole(path: Path) -> None:
    """Raise StoreError where a run has events and their file was cut off. Most of it is not read.

    For those who need no events: a run beside a damaged file is one that nobody can check again.
    """
    with events_told(path):
        try:
            with _file_of(path).open("rb") as file:
                head, size_bytes = file.read(len(_MAGIC)), file.seek(0, os.SEEK_END)
                file.seek(max(0, size_bytes - len(_MAGIC)))
                whole = head == file.read() == _MAGIC and size_bytes > 2 * len(_MAGIC)
        except FileNotFoundError:
            return  # they may be left out
        if not whole:
            raise ValueError("it is cut off, or no Parquet file")


@contextmanager
def events_told(path: Path) -> Iterator[None]:
    """Turn whatever comes of a damaged file of events into a StoreError that names run, file and remedy."""
    try:
        yield
    except (OSError, ValueError, LookupError, pa.ArrowException) as broken:
        file, run = _file_of(path), path.parent.name
        remedy = f"Rename {run} to have it measured again" if file == path else GET_AGAIN
        raise StoreError(f"{file} cannot be read, the events of {run}: {broken}. {remedy}") from broken


def _file_of(path: Path) -> Path:
    of_campaign = path.parent.parent / path.name
    return path if path.exists() or not of_campaign.exists() else of_campaign


def pack_campaign(source: CampaignFolder | HazardFolder, target: Path) -> None:
    """Copy a campaign, packed or not, into a folder that does not exist yet. Raises StoreError, OSError or ValueError.

    Every run that was measured must have its events: without them no check of it can be repeated.
    """
    with _copy(source, target):
        runs: list[RunFolder | HazardRunFolder] = [*source.runs()]
        write_packed_runs(target / RUNS_FILE, PHASES, ((run.path.name, _records(run)) for run in runs))
        if isinstance(source, CampaignFolder):
            measured = [run for run in source.runs() if run.has(run.measurement)]
            _pack_events([run.events_path for run in measured], target / "events.parquet")
            if around := [run.around_path for run in measured if has_events(run.around_path)]:
                _pack_events(around, target / AROUND_FILE)


def unpack_campaign(source: CampaignFolder | HazardFolder, target: Path) -> None:
    """Copy a campaign into a folder for each run, each record a file of its own. Raises as `pack_campaign` does."""
    with _copy(source, target):
        for run in source.runs():
            folder = target / run.path.name
            folder.mkdir()
            for phase, text in _records(run).items():
                (folder / f"{phase}.json").write_text(text, encoding="utf-8")
            if isinstance(run, RunFolder) and run.has(run.measurement):
                for path in (run.events_path, *([run.around_path] if has_events(run.around_path) else [])):
                    pq.write_table(events_table(path), folder / path.name)


@contextmanager
def _copy(source: CampaignFolder | HazardFolder, target: Path) -> Iterator[None]:
    """A new folder with what lies beside the runs. It is taken away again if the copy cannot be finished."""
    if target.exists():
        raise StoreError(f"{target} exists: name a folder that does not")
    target.mkdir(parents=True)
    try:
        for path in sorted(source.path.glob("*.json")):
            shutil.copyfile(path, target / path.name)
        yield
    except BaseException:
        shutil.rmtree(target)
        raise


def _records(run: RunFolder | HazardRunFolder) -> Mapping[str, str]:
    return {phase: run.text(phase).decode() for phase in PHASES if run.has(phase)}


def _pack_events(paths: Sequence[Path], target: Path) -> None:
    """Files that lie in the folders of their runs, into one."""
    words = pa.dictionary(pa.int8(), pa.string())
    # One schema for all: where a run lacks the release's answer, none has it.
    added = all(map(_has_added, paths))
    lengths = (*_LENGTHS, _ADDED_LENGTH) if added else _LENGTHS
    schema = pa.schema(
        [*((name, pa.int64()) for name in (*_WHOLE, *lengths)), *((name, words) for name in _WORDS)],
        metadata={_RUNS: json.dumps([path.parent.name for path in paths])},
    )
    with pq.ParquetWriter(
        target,
        schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=list(_WORDS),
        column_encoding={
            **dict.fromkeys(lengths, "BYTE_STREAM_SPLIT"),
            **dict.fromkeys(_WHOLE, "DELTA_BINARY_PACKED"),
        },
    ) as writer:
        for path in paths:
            packed = _packed(events_table(path), added)
            writer.write_table(packed.cast(schema), row_group_size=max(1, len(packed)))


def _has_added(path: Path) -> bool:
    with events_told(path):
        names = pq.read_schema(_file_of(path)).names
        return ADDED_COLUMNS[0] in names or _ADDED_LENGTH in names


def _packed(table: pa.Table, added: bool) -> pa.Table:
    intended, started, acquired, released = (_integers(table, name) // GRID_NS for name in _INSTANTS)
    held = np.where(_integers(table, "released_ns") > 0, released - acquired, _NOT_HELD)
    lengths = (np.diff(intended, prepend=0), started - intended, acquired - started, held)
    kept = {name: table[name] for name in (*_WHOLE, *_WORDS)}
    columns = kept | dict(zip(_LENGTHS, lengths, strict=True))
    if added:
        freed = _integers(table, ADDED_COLUMNS[0]) // GRID_NS
        columns[_ADDED_LENGTH] = np.where(held == _NOT_HELD, _NOT_HELD, freed - released)
    return pa.table({name: columns[name] for name in (*_WHOLE, *_LENGTHS, _ADDED_LENGTH, *_WORDS) if name in columns})


def _part(of_campaign: Path, run_id: str) -> pa.Table:
    file = pq.ParquetFile(of_campaign)
    runs = _runs_in(file.schema_arrow)
    if run_id not in runs:
        raise LookupError("it has none of them")
    return _unpacked(file.read_row_group(runs.index(run_id)))


def _runs_in(schema: pa.Schema) -> list[str]:
    return list(json.loads((schema.metadata or {}).get(_RUNS, "[]")))


def _unpacked(table: pa.Table) -> pa.Table:
    gap, late, wait, held = (_integers(table, name) for name in _LENGTHS)
    intended = np.cumsum(gap)
    started = intended + late
    acquired = started + wait
    released = np.where(held == _NOT_HELD, 0, acquired + held)
    instants = dict(zip(_INSTANTS, (intended, started, acquired, released), strict=True))
    if _ADDED_LENGTH in table.column_names:
        freeing = _integers(table, _ADDED_LENGTH)
        instants[ADDED_COLUMNS[0]] = np.where(freeing == _NOT_HELD, 0, released + freeing)
    columns = [name for name in (*EVENT_COLUMNS, *ADDED_COLUMNS) if name in EVENT_COLUMNS or name in instants]
    return pa.table({name: instants[name] * GRID_NS if name in instants else table[name] for name in columns})


def _integers(table: pa.Table, name: str) -> _Integers:
    values: _Integers = table[name].to_numpy().astype(np.int64)
    return values


def _main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.records.packed", description="Pack a campaign's folder.")
    parser.add_argument("source", type=Path, help="a campaign's folder")
    parser.add_argument("target", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--unpack", action="store_true", help="the other way: a folder for each run")
    asked = parser.parse_args(arguments)
    hazards = is_file(asked.source / HazardFolder.plan_file)
    source = HazardFolder(asked.source) if hazards else CampaignFolder(asked.source)
    try:
        (unpack_campaign if asked.unpack else pack_campaign)(source, asked.target)
    except (StoreError, OSError, ValueError) as refused:
        parser.exit(1, f"{refused}\n")
    size_bytes = sum(path.stat().st_size for path in asked.target.rglob("*") if path.is_file())
    print(f"{asked.target}: {size_bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    _main(sys.argv[1:])
