"""From a campaign's folder to rows: what counts, what is void, and why."""

import json
from pathlib import Path

import pytest

from bench.analysis.hazards.evidence import HazardEvidence
from bench.records.schema import Failed, RunState
from bench.records.store import StoreError
from tests.analysis.hazards import records


def test_a_campaign_is_read_whole_and_void_runs_are_kept_with_their_reason(tmp_path: Path) -> None:
    plans = [records.plan("gc-pause", "redis", number, fence=False) for number in range(1, 6)]
    folder = records.start(tmp_path, *plans)
    records.add_run(folder, plans[0], records.two_holders(False), records.pause(500.0))
    records.add_run(folder, plans[1], records.two_holders(False), staging=["trial 1: holder ended by itself"])
    records.add_run(folder, plans[2], failed=Failed(phase="servers", reason="no port"))
    records.add_run(folder, plans[3])
    loaded = HazardEvidence.load(folder)
    assert [run.state for run in loaded.runs] == [
        RunState.CHECKED,
        RunState.CHECKED,
        RunState.FAILED,
        RunState.INTERRUPTED,
    ], "the fifth was never started"
    assert [row.run_id for row in loaded.trials] == ["gc-pause-redis-01"] * 2
    assert {one.run_id: (one.cause, one.reason) for one in loaded.void} == {
        "gc-pause-redis-02": ("not as staged", "trial 1: holder ended by itself"),
        "gc-pause-redis-03": ("failed (servers)", "no port"),
        "gc-pause-redis-04": ("interrupted", "the run has no history"),
    }
    assert loaded.timeline("gc-pause-redis-02") is not None, "a void run may still be looked at"
    (verdict,) = loaded.verdicts
    assert verdict.shown.of == 1
    assert len(verdict.void) == 3


def test_an_unchecked_history_counts_for_nothing(tmp_path: Path) -> None:
    plan = records.plan("gc-pause", "redis")
    folder = records.start(tmp_path, plan)
    trial, _ = records.trial_of("1", records.two_holders(False))
    folder.start_run(plan).write(records.history_of("redis", [trial]))
    (run,) = HazardEvidence.load(folder).runs
    assert (run.state, run.void_cause) == (RunState.MEASURED, "not checked")


def test_a_damaged_file_is_one_clear_message(tmp_path: Path) -> None:
    plan = records.plan("gc-pause", "redis")
    folder = records.start(tmp_path, plan)
    records.add_run(folder, plan, records.two_holders(False))
    path = folder.path / plan.run_id / "checked.json"
    path.write_text(json.dumps({"schema_version": 1, "trials": "none"}))
    with pytest.raises(StoreError, match="damaged"):
        HazardEvidence.load(folder)


def test_parameters_of_a_trial_go_before_those_of_its_run() -> None:
    run = records.runs("gc-pause", "redis", records.pause(fence=True), records.Staged(), fence=False, rule="below")
    first, second = run.trials
    assert (first.fence, second.fence) == (True, False)
    assert first.parameter("rule") == "below"
    assert first.parameter("nothing") is None
    assert first.parameter("nothing", 3) == 3
    assert first.longest_fault_ms("pause") == 1600.0
    assert first.longest_fault_ms("kill") is None


def test_trials_are_found_by_scenario_system_and_parameters() -> None:
    found = records.evidence(
        records.runs("gc-pause", "redis", records.pause(fence=True), records.pause(fence=False)),
        records.runs("gc-pause", "etcd", records.pause(fence=True)),
    )
    assert len(found.of("gc-pause")) == 3
    assert len(found.of("gc-pause", "redis")) == 2
    assert len(found.of("gc-pause", "redis", fence=True)) == 1
    assert found.timeline("gc-pause-redis-01", "1").trial.name == "1"  # type: ignore[union-attr]
    assert found.timeline("nothing") is None
