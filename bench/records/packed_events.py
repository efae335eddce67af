"""Events for a campaign that is committed: a third of their size.

`python -m bench.records.packed_events FROM TO` copies a campaign of load without its logs, its events packed.

A row of events.parquet has four instants of its operation, of which one is new and three lie just behind it. So the
packed form has the gap to the operation before, and three lengths; their bytes are stored apart (all high bytes
together), since low bytes are noise and high ones are not. Instants are rounded down to one grid of 100 ns: what came
first stays first, and what did not overlap does not. That is less than a hundredth of the quickest operation here, and
all that a run's own record says was computed before.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bench.records.schema import EVENT_COLUMNS
from bench.records.store import CampaignFolder, StoreError

GRID_NS = 100
_ORIGIN = b"lockbench_origin"  # in the file's metadata, in steps of the grid; no other file has it
_LENGTHS = ("gap", "late", "wait", "held")
_NOT_HELD = -1
_WORDS = ("outcome", "released")
_LEVEL = 19

_Integers = npt.NDArray[np.int64]


def events_table(path: Path) -> pa.Table:
    """The events of a run by the columns of `EVENT_COLUMNS`, packed or not. Raises OSError or ValueError."""
    table = pq.read_table(path)
    if _ORIGIN in (table.schema.metadata or {}):
        table = _unpacked(table)
    missing = [name for name in EVENT_COLUMNS if name not in table.column_names]
    if missing:
        raise ValueError(f"{path} has no column {', '.join(missing)}")
    return table


def pack_events(source: Path, target: Path) -> None:
    """Write the packed form of a file of events. Raises OSError or ValueError."""
    table = events_table(source)
    steps = {
        name: _integers(table, name) // GRID_NS for name in ("intended_ns", "started_ns", "acquired_ns", "released_ns")
    }
    intended = steps["intended_ns"]
    held = np.where(_integers(table, "released_ns") > 0, steps["released_ns"] - steps["acquired_ns"], _NOT_HELD)
    origin = int(intended[0]) if len(intended) else 0
    lengths = {
        "gap": np.diff(intended, prepend=origin),
        "late": steps["started_ns"] - intended,
        "wait": steps["acquired_ns"] - steps["started_ns"],
        "held": held,
    }
    whole = {name: table[name] for name in ("client", "key", "token")}
    packed = pa.table({**whole, **lengths, **{name: table[name] for name in _WORDS}})
    pq.write_table(
        packed.replace_schema_metadata({_ORIGIN: str(origin)}),
        target,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=list(_WORDS),
        column_encoding={
            **dict.fromkeys(_LENGTHS, "BYTE_STREAM_SPLIT"),
            **dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
        },
    )


def pack_campaign(source: CampaignFolder, target: Path) -> None:
    """Copy a campaign into a folder that does not exist yet. Raises StoreError."""
    if target.exists():
        raise StoreError(f"{target} exists: name a folder that does not")
    target.mkdir(parents=True)
    for path in source.path.glob("*.json"):
        shutil.copyfile(path, target / path.name)
    for run in source.runs():
        folder = target / run.path.name
        folder.mkdir()
        for path in run.path.glob("*.json"):
            shutil.copyfile(path, folder / path.name)
        if run.events_path.exists():
            pack_events(run.events_path, folder / run.events_path.name)


def _unpacked(table: pa.Table) -> pa.Table:
    origin = int(table.schema.metadata[_ORIGIN])
    gap, late, wait, held = (_integers(table, name) for name in _LENGTHS)
    intended = origin + np.cumsum(gap)
    started = intended + late
    acquired = started + wait
    instants = {
        "intended_ns": intended,
        "started_ns": started,
        "acquired_ns": acquired,
        "released_ns": np.where(held == _NOT_HELD, 0, acquired + held),
    }
    return pa.table({name: instants[name] * GRID_NS if name in instants else table[name] for name in EVENT_COLUMNS})


def _integers(table: pa.Table, name: str) -> _Integers:
    values: _Integers = table[name].to_numpy().astype(np.int64)
    return values


if __name__ == "__main__":
    campaign_path, copy_path = (Path(argument) for argument in sys.argv[1:])
    pack_campaign(CampaignFolder(campaign_path), copy_path)
    size_bytes = sum(path.stat().st_size for path in copy_path.rglob("*") if path.is_file())
    print(f"{copy_path}: {size_bytes / 1e6:.1f} MB")
