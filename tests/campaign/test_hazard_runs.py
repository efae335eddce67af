"""What becomes of a hazard campaign when a run of it fails: the others are played, and every folder stays true."""

import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from bench.campaign import hazard_runs
from bench.campaign.carrying_out import CampaignIncomplete, start
from bench.campaign.hazard_runs import HazardRuns
from bench.errors import LockbenchError
from bench.hazards.lab.lab import Lab
from bench.hazards.scenario import Scenario
from bench.records.hazards import HazardCampaign, HazardHistory, HazardPlan, Trial, Write
from bench.records.schema import RunState
from bench.records.store import HazardFolder, Store, StoreError
from bench.servers.running.supervisor import Supervisor

EMPTY = HazardHistory(started_at="2026-01-01T00:00:00+00:00", trials=(), facts=None, source="none")
# Under a grant that no client reported: only a mistake of the recorder makes such a history.
CONTRADICTS = Trial(
    name="1",
    ttl_ms=1000,
    began_ns=0,
    ended_ns=9,
    writes=(
        Write(
            actor="a",
            key="k",
            grant="g",
            token=None,
            sent_ns=1,
            answered_ns=2,
            fence=False,
            order=1,
            accepted=True,
            highest_before=0,
            value_read=0,
            value_before=0,
            value_written=1,
        ),
    ),
)
Outcome = Callable[[], HazardHistory]


def play(folder: Path, monkeypatch: pytest.MonkeyPatch, *outcomes: Outcome) -> dict[str, RunState | None]:
    """A campaign of as many runs on a system without servers; returns their states. Raises what the campaign does."""
    left = list(outcomes)

    def carried_out(
        plan: HazardPlan, _scenario: Scenario, _full: bool, _lab: Lab, log: TextIO, _stop: threading.Event, _: object
    ) -> HazardHistory:
        print(plan.run_id, file=log)
        return left.pop(0)()

    monkeypatch.setattr(hazard_runs, "carry_out", carried_out)
    plans = tuple(
        HazardPlan(
            campaign_id="c",
            run_id=f"run-{number}",
            position=number,
            scenario="gc-pause",
            system="null",
            parameters={"ttl_ms": 1000},
            repetition=1,
            seed=1,
        )
        for number in range(len(outcomes))
    )
    campaign = HazardCampaign(
        campaign_id="c",
        created_at="2026-01-01T00:00:00+00:00",
        mode="quick",
        seed=1,
        lockbench_version="0",
        git_commit="0",
        runs=plans,
    )
    start(HazardRuns(Supervisor(folder / "home")), campaign, Store(folder / "runs"))
    return states(folder)


def states(folder: Path) -> dict[str, RunState | None]:
    campaign = Store(folder / "runs").open(HazardFolder, "c")
    return {plan.run_id: campaign.state_of(plan) for plan in campaign.campaign.runs}


def raising(failure: Exception) -> Outcome:
    def fail() -> HazardHistory:
        raise failure

    return fail


def test_a_run_that_fails_is_told_at_the_end_and_the_others_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CampaignIncomplete, match=r"1 of 3 runs have no findings.*run-0: no stage.*--resume c"):
        play(tmp_path, monkeypatch, raising(LockbenchError("no stage")), lambda: EMPTY, lambda: EMPTY)
    assert states(tmp_path) == {
        "run-0": RunState.FAILED,
        "run-1": RunState.CHECKED,
        "run-2": RunState.CHECKED,
    }


def test_a_history_that_contradicts_itself_is_kept_and_counted_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = EMPTY.model_copy(update={"trials": (CONTRADICTS,)})
    with pytest.raises(CampaignIncomplete, match=r"the history contradicts itself: .*no client reported"):
        play(tmp_path, monkeypatch, lambda: broken, lambda: EMPTY)
    assert states(tmp_path) == {"run-0": RunState.MEASURED, "run-1": RunState.CHECKED}


def test_a_full_disk_ends_the_campaign_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(StoreError, match=r"run-0/log\.txt: No space left on device\. Free space, then resume"):
        play(tmp_path, monkeypatch, raising(full), lambda: EMPTY)
    assert states(tmp_path) == {"run-0": RunState.INTERRUPTED, "run-1": None}


def test_a_mistake_of_ours_is_not_taken_for_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        play(tmp_path, monkeypatch, raising(ZeroDivisionError()), lambda: EMPTY)
    assert states(tmp_path) == {"run-0": RunState.INTERRUPTED, "run-1": None}


def test_all_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(tmp_path, monkeypatch, lambda: EMPTY) == {"run-0": RunState.CHECKED}
