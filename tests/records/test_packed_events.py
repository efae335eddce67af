"""Packed events say the same, on a grid of 100 ns, in a fraction of the room."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.holds import overlaps, read_events, token_regressions
from bench.load.events import write_events
from bench.load.rows import CODES, COLUMNS, NO_TOKEN, NOTHING_HELD
from bench.records.packed_events import GRID_NS, events_table, pack_campaign, pack_events
from bench.records.schema import EVENT_COLUMNS
from bench.records.store import StoreError
from bench.systems.base import Outcome
from tests import campaigns

COUNT = 20_000


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Operations of one key, one after the other; every tenth found the key busy."""
    dice = np.random.default_rng(7)
    rows = np.zeros((COUNT, len(COLUMNS)), dtype=np.int64)
    lengths = dice.lognormal(10.0, 0.4, (COUNT, 3)).astype(np.int64)
    begins = 5_000_000_000_000_003 + np.concatenate([[0], np.cumsum(lengths.sum(axis=1))[:-1]])
    busy = np.arange(COUNT) % 10 == 9
    acquired = begins + lengths[:, 0]
    released = acquired + lengths[:, 1]
    for name, values in {
        "client": np.arange(COUNT) % 8,
        "intended_ns": begins,
        "started_ns": begins,
        "acquired_ns": acquired,
        "released_ns": np.where(busy, 0, released),
        "freed_ns": np.where(busy, 0, released + 1),
        "outcome": np.where(busy, CODES[Outcome.BUSY], CODES[Outcome.ACQUIRED]),
        "released": np.where(busy, NOTHING_HELD, CODES[Outcome.RELEASED]),
        "token": np.where(busy, NO_TOKEN, np.arange(COUNT)),
    }.items():
        rows[:, COLUMNS.index(name)] = values
    path = tmp_path / "events.parquet"
    write_events(path, rows)
    return path


def test_packed_events_say_the_same(events: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.parquet"
    pack_events(events, packed)
    before, after = events_table(events), events_table(packed)
    assert tuple(after.column_names) == EVENT_COLUMNS
    for name in EVENT_COLUMNS:
        one, other = (table[name].to_pylist() for table in (before, after))
        if name.endswith("_ns"):
            one = [value // GRID_NS * GRID_NS for value in one]
        assert one == other, name
    plain, read = read_events(events), read_events(packed)
    assert plain.acquires == read.acquires
    assert not overlaps(read.holds).any(), "rounding makes no two holders"
    assert not token_regressions(read.holds).any()


def test_they_need_less_than_half_the_room(events: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed.parquet"
    pack_events(events, packed)
    assert packed.stat().st_size < 0.5 * events.stat().st_size
    assert packed.stat().st_size < 6 * COUNT, "six bytes an operation"


def test_packing_twice_changes_nothing(events: Path, tmp_path: Path) -> None:
    once, twice = tmp_path / "once.parquet", tmp_path / "twice.parquet"
    pack_events(events, once)
    pack_events(once, twice)
    assert events_table(once).equals(events_table(twice))


def test_no_operation_is_packed_as_none(tmp_path: Path) -> None:
    write_events(tmp_path / "none.parquet", np.zeros((0, len(COLUMNS)), dtype=np.int64))
    pack_events(tmp_path / "none.parquet", tmp_path / "packed.parquet")
    assert len(read_events(tmp_path / "packed.parquet").holds) == 0


def test_another_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"client": [1]}), tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="has no column key, intended_ns"):
        events_table(tmp_path / "other.parquet")


def test_a_packed_campaign_has_everything_but_logs(events: Path, tmp_path: Path) -> None:
    (plan,) = campaigns.plans(systems=["redis"], workloads=["uncontended"], repetitions=1)
    folder = campaigns.start(tmp_path / "runs", (plan,))
    campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    run = folder.run(plan.run_id)
    run.log_path.write_text("as Locust said")
    run.events_path.write_bytes(events.read_bytes())
    pack_campaign(folder, tmp_path / "copy")
    copied = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    names = {"plan.json", "measured.json", "checked.json", "events.parquet"}
    assert copied == {"campaign.json", "environment.json", *(f"{plan.run_id}/{name}" for name in names)}
    with pytest.raises(StoreError, match="name a folder that does not"):
        pack_campaign(folder, tmp_path / "copy")
