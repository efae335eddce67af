"""A packed campaign says the same, its events on a grid of 100 ns, in a few files and a fraction of the room."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.holds import overlaps, read_events, read_whole, token_regressions
from bench.load.events import write_events
from bench.load.rows import CODES, COLUMNS, NO_TOKEN, NOTHING_HELD
from bench.records.packed import GRID_NS, events_table, has_events, pack_campaign, unpack_campaign
from bench.records.packed_runs import write_packed_runs
from bench.records.schema import ADDED_COLUMNS, EVENT_COLUMNS, Failed, RunState
from bench.records.store import CampaignFolder, HazardFolder, RunFolder, StoreError
from bench.systems.base import Outcome
from tests import campaigns
from tests.analysis.hazards import records as hazard_records

COUNT = 20_000
RUNS = 3  # the second has no operation


def rows(seed: int, count: int = COUNT) -> np.ndarray:
    """Operations of one key, one after the other; every tenth found the key busy."""
    dice = np.random.default_rng(seed)
    made = np.zeros((count, len(COLUMNS)), dtype=np.int64)
    lengths = dice.lognormal(10.0, 0.4, (count, 3)).astype(np.int64)
    begins = 5_000_000_000_000_003 + np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])[:count]
    busy = np.arange(count) % 10 == 9
    acquired = begins + lengths[:, 0]
    released = acquired + lengths[:, 1]
    for name, values in {
        "client": np.arange(count) % 8,
        "intended_ns": begins,
        "started_ns": begins,
        "acquired_ns": acquired,
        "released_ns": np.where(busy, 0, released),
        "freed_ns": np.where(busy, 0, released + 1),
        "outcome": np.where(busy, CODES[Outcome.BUSY], CODES[Outcome.ACQUIRED]),
        "released": np.where(busy, NOTHING_HELD, CODES[Outcome.RELEASED]),
        "token": np.where(busy, NO_TOKEN, np.arange(count)),
    }.items():
        made[:, COLUMNS.index(name)] = values
    return made


@pytest.fixture
def campaign(tmp_path: Path) -> CampaignFolder:
    plans = campaigns.plans(systems=["redis"], workloads=["uncontended"], repetitions=RUNS)
    folder = campaigns.start(tmp_path / "runs", plans)
    for number, plan in enumerate(plans):
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
        run = folder.run(plan.run_id)
        run.log_path.write_text("as Locust said")
        write_events(run.events_path, rows(number, 0 if number == 1 else COUNT))
    return folder


def packed_of(campaign: CampaignFolder, target: Path) -> CampaignFolder:
    pack_campaign(campaign, target)
    return CampaignFolder(target)


def pairs(one: CampaignFolder, other: CampaignFolder) -> list[tuple[RunFolder, RunFolder]]:
    return list(zip(one.runs(), other.runs(), strict=True))


def test_packed_events_say_the_same(campaign: CampaignFolder, tmp_path: Path) -> None:
    for raw, packed in pairs(campaign, packed_of(campaign, tmp_path / "packed")):
        before, after = events_table(raw.events_path), events_table(packed.events_path)
        assert tuple(after.column_names) == tuple(before.column_names) == (*EVENT_COLUMNS, *ADDED_COLUMNS)
        for name in after.column_names:
            one, other = (table[name].to_pylist() for table in (before, after))
            if name.endswith("_ns"):
                one = [value // GRID_NS * GRID_NS for value in one]
            assert one == other, name
        plain, read = read_events(raw.events_path), read_events(packed.events_path)
        assert plain.acquires == read.acquires
        assert not overlaps(read.holds).any(), "rounding makes no two holders"
        assert not token_regressions(read.holds).any()


def test_operations_around_the_window_are_packed_where_a_run_has_them(campaign: CampaignFolder, tmp_path: Path) -> None:
    first = next(campaign.runs())
    write_events(first.around_path, rows(7, 500))
    packed = packed_of(campaign, tmp_path / "packed")
    unpack_campaign(packed, tmp_path / "unpacked")
    for raw, one in [*pairs(campaign, packed), *pairs(campaign, CampaignFolder(tmp_path / "unpacked"))]:
        assert has_events(one.around_path) is raw.around_path.exists() is (raw.path == first.path)
        whole = read_whole(one.events_path)
        assert (whole is None) is (raw.path != first.path)
        if whole is not None:
            assert len(whole.holds) == len(read_events(raw.events_path).holds) + 450
            assert whole.holds.acquired_ns.tolist() == sorted(whole.holds.acquired_ns.tolist())


def test_events_from_before_a_column_was_added_are_packed_without_it(campaign: CampaignFolder, tmp_path: Path) -> None:
    for run in campaign.runs():
        old = pq.read_table(run.events_path).select(EVENT_COLUMNS)
        pq.write_table(old, run.events_path)
    for raw, packed in pairs(campaign, packed_of(campaign, tmp_path / "packed")):
        assert tuple(events_table(packed.events_path).column_names) == EVENT_COLUMNS
        for path in (raw.events_path, packed.events_path):
            assert not len(read_events(path).holds.freed_ns)


def test_they_need_less_than_half_the_room(campaign: CampaignFolder, tmp_path: Path) -> None:
    packed = packed_of(campaign, tmp_path / "packed").path / "events.parquet"
    assert packed.stat().st_size < 0.5 * sum(run.events_path.stat().st_size for run in campaign.runs())
    assert packed.stat().st_size < 6 * COUNT * (RUNS - 1), "six bytes an operation"


def test_packed_records_are_the_same_to_the_byte(campaign: CampaignFolder, tmp_path: Path) -> None:
    for raw, packed in pairs(campaign, packed_of(campaign, tmp_path / "packed")):
        assert not packed.path.exists(), "a folder for each run is what packing is to save"
        assert packed.state is raw.state is RunState.CHECKED
        assert (packed.plan, packed.measured, packed.checked) == (raw.plan, raw.measured, raw.checked)
        for phase in ("plan", "measured", "checked"):
            assert packed.text(phase) == (raw.path / f"{phase}.json").read_bytes()
        assert not packed.has("failed")


def test_a_packed_hazard_campaign_is_the_same(tmp_path: Path) -> None:
    plans = [hazard_records.plan("gc-pause", "redis", number) for number in (1, 2, 3)]
    raw = hazard_records.start(tmp_path / "raw", *plans)
    hazard_records.add_run(raw, plans[0], hazard_records.two_holders(False))
    raw.start_run(plans[1]).write(Failed(phase="servers", reason="no port"))
    raw.start_run(plans[2])
    pack_campaign(raw, tmp_path / "packed")
    packed = HazardFolder(tmp_path / "packed")
    assert sorted(path.name for path in packed.path.iterdir()) == ["environment.json", "hazards.json", "runs.parquet"]
    assert [run.state for run in packed.runs()] == [RunState.CHECKED, RunState.FAILED, RunState.INTERRUPTED]
    assert [packed.state_of(plan) for plan in plans] == [run.state for run in raw.runs()]
    assert packed.run(plans[0].run_id).history == raw.run(plans[0].run_id).history
    assert HazardEvidence.load(packed) == HazardEvidence.load(raw)


def test_unpacking_gives_the_folders_back(campaign: CampaignFolder, tmp_path: Path) -> None:
    packed = packed_of(campaign, tmp_path / "packed")
    unpack_campaign(packed, tmp_path / "unpacked")
    for raw, back in pairs(campaign, CampaignFolder(tmp_path / "unpacked")):
        for path in raw.path.glob("*.json"):
            assert (back.path / path.name).read_bytes() == path.read_bytes()
        assert events_table(back.events_path).num_rows == events_table(raw.events_path).num_rows


def test_a_damaged_pack_is_one_clear_message(campaign: CampaignFolder, tmp_path: Path) -> None:
    packed = packed_of(campaign, tmp_path / "packed")
    (packed.path / "runs.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(StoreError, match=r"runs\.parquet is damaged: .*\. Get the campaign again"):
        list(packed.runs())


@pytest.mark.parametrize("damage", ["{", '{"schema_version": 0}', "[]"])
def test_a_damaged_record_of_a_pack_is_told_with_the_file_that_has_it(
    campaign: CampaignFolder, tmp_path: Path, damage: str
) -> None:
    packed = packed_of(campaign, tmp_path / "packed")
    damaged = [(run.path.name, {"plan": run.text("plan").decode(), "measured": damage}) for run in packed.runs()]
    write_packed_runs(packed.path / "runs.parquet", ("plan", "measured"), damaged)
    run = next(CampaignFolder(packed.path).runs())
    with pytest.raises(StoreError) as told:
        run.measured  # noqa: B018
    where, _, _ = str(told.value).partition(", measured of ")
    assert Path(where) == packed.path / "runs.parquet"
    assert run.path.name in str(told.value)
    assert str(run.path) not in str(told.value)


@pytest.mark.parametrize("unpack", [False, True])
def test_the_command(campaign: CampaignFolder, tmp_path: Path, unpack: bool) -> None:
    command = [sys.executable, "-m", "bench.records.packed", str(campaign.path), str(tmp_path / "copy")]
    command += ["--unpack"] if unpack else []
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.startswith(f"{tmp_path / 'copy'}: ")
    again = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == f"{tmp_path / 'copy'} exists: name a folder that does not\n"


def test_packing_twice_changes_nothing(campaign: CampaignFolder, tmp_path: Path) -> None:
    once = packed_of(campaign, tmp_path / "once")
    twice = packed_of(once, tmp_path / "twice")
    files = sorted(path.relative_to(once.path) for path in once.path.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(twice.path) for path in twice.path.rglob("*") if path.is_file())
    assert all((once.path / file).read_bytes() == (twice.path / file).read_bytes() for file in files)


def test_a_packed_campaign_has_everything_but_logs(campaign: CampaignFolder, tmp_path: Path) -> None:
    packed = packed_of(campaign, tmp_path / "packed").path
    files = ["campaign.json", "environment.json", "events.parquet", "runs.parquet"]
    assert sorted(str(path.relative_to(packed)) for path in packed.rglob("*")) == files
    with pytest.raises(StoreError, match="name a folder that does not"):
        pack_campaign(campaign, packed)


def test_a_run_without_its_events_is_missed(campaign: CampaignFolder, tmp_path: Path) -> None:
    packed = packed_of(campaign, tmp_path / "packed")
    with pytest.raises(StoreError, match="cannot be read, the events of another-run: it has none of them"):
        events_table(packed.run("another-run").events_path)
    first = next(campaign.runs())
    first.events_path.unlink()
    with pytest.raises(StoreError, match=first.path.name):
        pack_campaign(campaign, tmp_path / "incomplete")
    assert not (tmp_path / "incomplete").exists(), "half a copy would be taken for a campaign"


@pytest.mark.parametrize("copy", [pack_campaign, unpack_campaign])
def test_what_is_no_campaign_leaves_no_copy(tmp_path: Path, copy: Callable[[CampaignFolder, Path], None]) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        copy(CampaignFolder(tmp_path / "nothing"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_another_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"client": [1]}), tmp_path / "other.parquet")
    with pytest.raises(StoreError, match="has no column key, intended_ns"):
        events_table(tmp_path / "other.parquet")
