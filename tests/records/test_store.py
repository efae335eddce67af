"""A store keeps what was finished, marks what was not, and says what is wrong in one message."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign.load_plans import plan_runs
from bench.campaign.modes import QUICK, choose_systems
from bench.records import store as store_module
from bench.records.schema import Campaign, Environment, Failed, Resumed, RunState, Workload
from bench.records.store import CampaignFolder, Store, StoreError, write_atomically

ENVIRONMENT = Environment(
    cpu_model="test", cpu_count=2, memory_bytes=1, kernel="test", governor="unknown", operating_system="test",
    virtualization="none seen", filesystem="ext4", fdatasync_us_p50=1, fdatasync_us_p99=1, loopback_rtt_us_p50=1,
    python="3.11", libraries={}, load_average_1m=0,
)  # fmt: skip


def campaign(name: str = "one") -> Campaign:
    runs = plan_runs(name, choose_systems(["redis", "memory"]), ["uncontended"], QUICK, 2, seed=1)
    return Campaign(
        campaign_id=name, created_at="2026-01-01T00:00:00+00:00", mode="quick", seed=1,
        lockbench_version="0", git_commit="unknown", runs=runs,
    )  # fmt: skip


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    written = campaign()
    folder = Store(tmp_path).start(CampaignFolder, written, ENVIRONMENT)
    assert Store(tmp_path).open(CampaignFolder).campaign == written
    assert folder.environment == ENVIRONMENT
    assert list(folder.runs()) == []


def test_states_follow_the_files(tmp_path: Path) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    first, second = folder.campaign.runs[:2]
    interrupted = folder.start_run(first)
    folder.start_run(second).write(Failed(phase="load", reason="redis stopped answering"))
    assert [run.state for run in folder.runs()] == [RunState.INTERRUPTED, RunState.FAILED]
    assert interrupted.plan == first


def test_a_finished_phase_is_never_written_again(tmp_path: Path) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    run = folder.start_run(folder.campaign.runs[0])
    with pytest.raises(StoreError, match="never written again"):
        run.write(run.plan)
    with pytest.raises(StoreError, match="exists already"):
        folder.start_run(run.plan)


def test_latest_points_at_the_newest(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.start(CampaignFolder, campaign("one"), ENVIRONMENT)
    store.start(CampaignFolder, campaign("two"), ENVIRONMENT)
    assert store.open(CampaignFolder).campaign.campaign_id == "two"
    assert store.open(CampaignFolder, "one").campaign.campaign_id == "one"
    assert sorted(store.names(CampaignFolder)) == ["one", "two"]


def test_a_second_campaign_of_one_name_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    with pytest.raises(StoreError, match="--name"):
        Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)


@pytest.mark.parametrize("name", ["", "../elsewhere", "a/b", ".hidden", "x" * 200])
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot name a campaign"):
        Store(tmp_path).start(CampaignFolder, campaign(name), ENVIRONMENT)


def test_an_unknown_campaign_names_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="lockbench run --quick"):
        Store(tmp_path).open(CampaignFolder)
    Store(tmp_path).start(CampaignFolder, campaign("one"), ENVIRONMENT)
    with pytest.raises(StoreError, match="there is one"):
        Store(tmp_path).open(CampaignFolder, "two")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_or_unwritable_disk_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_handle: int) -> None:
        raise OSError(number, os.strerror(number))

    write_atomically(tmp_path / "kept.json", "before")
    monkeypatch.setattr(store_module.os, "fsync", refuse)
    with pytest.raises(StoreError, match=f"{os.strerror(number)}. Free space or set LOCKBENCH_DATA"):
        write_atomically(tmp_path / "kept.json", "after")
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]
    assert (tmp_path / "kept.json").read_text() == "before"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 1}', '{"schema_version": 99}'])
def test_a_damaged_record_is_named(tmp_path: Path, text: str) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    (folder.path / "environment.json").write_text(text)
    with pytest.raises(StoreError, match=r"environment\.json (is damaged|has schema version)"):
        _ = folder.environment


@pytest.mark.parametrize("reason", [None, Failed(phase="load", reason="redis stopped answering")])
def test_a_run_without_a_measurement_is_set_aside_and_kept(tmp_path: Path, reason: Failed | None) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    plan = folder.campaign.runs[0]
    state = "interrupted" if reason is None else "failed"
    assert folder.state_of(plan) is None
    for number in (1, 2):
        run = folder.start_run(plan)
        run.log_path.write_text(f"attempt {number}")
        if reason is not None:
            run.write(reason)
        assert folder.state_of(plan) == state
        assert folder.set_aside(plan) == folder.path / f"{plan.run_id}.{state}-{number}"
        assert folder.state_of(plan) is None
    assert folder.attempts_aside() == (f"{plan.run_id}.{state}-1", f"{plan.run_id}.{state}-2")
    assert [(folder.path / name / "log.txt").read_text() for name in folder.attempts_aside()] == [
        "attempt 1",
        "attempt 2",
    ]
    assert list(folder.runs()) == []
    assert folder.start_run(plan).plan == plan


@pytest.mark.parametrize("name", ["measured.json", "checked.json"])
def test_a_run_that_has_a_measurement_is_never_set_aside(tmp_path: Path, name: str) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    run = folder.start_run(folder.campaign.runs[0])
    (run.path / name).write_text("{}")
    with pytest.raises(StoreError, match="never set aside"):
        folder.set_aside(folder.campaign.runs[0])
    assert run.path.is_dir()


def test_each_resumption_is_a_file_of_its_own(tmp_path: Path) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    records = [Resumed(resumed_at=f"2026-01-0{day}T00:00:00+00:00", environment=ENVIRONMENT) for day in (1, 2)]
    for record in records:
        folder.write_resumed(record)
    assert folder.resumptions() == tuple(records)
    assert sorted(path.name for path in folder.path.glob("resumed-*")) == ["resumed-1.json", "resumed-2.json"]


def test_only_one_process_adds_runs_to_a_campaign(tmp_path: Path) -> None:
    folder = Store(tmp_path).start(CampaignFolder, campaign(), ENVIRONMENT)
    with folder.held(), pytest.raises(StoreError, match="another lockbench is measuring"), folder.held():
        pass
    with folder.held():
        pass


@given(st.data())
def test_unlike_parameters_have_unlike_digests(data: st.DataObject) -> None:
    workload = Workload(name="contended", clients=8, keys=1)
    field = data.draw(st.sampled_from(["clients", "keys", "ttl_ms", "timeout_ms", "processes"]))
    value = data.draw(st.integers(1, 10_000).filter(lambda number: number != getattr(workload, field)))
    changed = workload.model_copy(update={field: value})
    assert changed.digest != workload.digest
    assert workload.model_copy().digest == workload.digest
