"""Whatever ended a campaign, going on with it ends with the planned runs, and touches none that was finished."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.analysis.selfchecks import check_run
from bench.campaign import carrying_out, load_plans, load_runs, same_experiment
from bench.campaign.carrying_out import CampaignIncomplete, resume, start, what_is_left
from bench.campaign.load_plans import new_campaign, plan_runs
from bench.campaign.load_runs import LoadRuns, what_must_agree
from bench.campaign.modes import QUICK, choose_systems
from bench.campaign.same_experiment import CannotResume, refuse_other_facts
from bench.load.events import write_events
from bench.load.rows import COLUMNS
from bench.load.runner import LoadFailed, facts_of, where
from bench.records.schema import Checked, Facts, Failed, Measured, RunPlan, RunState
from bench.records.store import CampaignFolder, RunFolder, Store, StoreError
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import system
from tests import campaigns


class Attempt(StrEnum):
    """How one attempt at a run ends."""

    FINISHED = "finished"
    KILLED = "killed"  # in the middle of the load
    FAILED = "failed"
    KILLED_BEFORE_CHECK = "killed before the check"


class Killed(BaseException):
    """Stands for SIGKILL: no handler of the code under test may run for it, and none may swallow it."""


class World:
    """A made-up load whose attempts end as scripted; when the script is over, every attempt finishes."""

    def __init__(self, root: Path, script: list[Attempt]) -> None:
        self.root = root
        self.script = list(script)
        self.forged_facts = False  # record what Redis would tell, whoever serves
        self.attempts: list[tuple[str, Attempt]] = []
        self.supervisor = Supervisor(root / "home")
        self.store = Store(root / "runs")

    def load(self, plan: RunPlan, run: RunFolder, supervisor: Supervisor, **_: object) -> Measured:
        attempt = self.script.pop(0) if self.script else Attempt.FINISHED
        self.attempts.append((plan.run_id, attempt))
        run.log_path.write_text(f"attempt {len(self.attempts)}\n")
        if attempt is Attempt.KILLED:
            raise Killed
        if attempt is Attempt.FAILED:
            raise LoadFailed("planted")
        write_events(run.events_path, np.zeros((0, len(COLUMNS)), dtype=np.int64))
        made = campaigns.measured(plan, campaigns.SHAPES["redis"], operations=5)
        if self.forged_facts:
            return made
        source, endpoint = where(system(plan.system), supervisor)
        facts = facts_of(system(plan.system), endpoint, "before")
        return made.model_copy(update={"source": source, "facts_before": facts, "facts_after": facts})

    def check(self, plan: RunPlan, _measured: Measured, events_path: Path) -> Checked:
        run_id, attempt = self.attempts[-1]
        if attempt is Attempt.KILLED_BEFORE_CHECK and run_id == plan.run_id:
            self.attempts[-1] = (run_id, Attempt.FINISHED)  # only the first look at it is interrupted
            raise Killed
        assert events_path.exists()
        return Checked(checks=())

    def start(self, repetitions: int = 2) -> CampaignFolder:
        runs = plan_runs("c", choose_systems(["null", "memory"]), ["uncontended"], QUICK, repetitions, seed=1)
        self._until_killed(lambda: start(LoadRuns(self.supervisor), new_campaign("quick", 1, runs), self.store))
        return self.store.open(CampaignFolder, "c")

    def go_on(self, folder: CampaignFolder) -> None:
        self._until_killed(lambda: resume(LoadRuns(self.supervisor), folder))

    @staticmethod
    def _until_killed(work: Callable[[], object]) -> None:
        try:
            work()
        except (Killed, CampaignIncomplete):
            return


@contextmanager
def world(script: list[Attempt]) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        made = World(Path(folder), script)
        patch.setattr(load_runs, "run_load", made.load)
        patch.setattr(load_runs, "check_run", made.check)
        patch.setattr(carrying_out, "capture_environment", lambda *_: campaigns.environment())
        for module in (load_plans, same_experiment):
            patch.setattr(module, "git_commit", lambda: "0123456789ab")
        yield made


def finished(folder: CampaignFolder) -> dict[str, tuple[bytes, int]]:
    """Bytes and time of change of every file of the checked runs, and of their folders."""
    return {
        str(path.relative_to(folder.path)): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for run in folder.runs()
        if run.state is RunState.CHECKED
        for path in (run.path, *run.path.iterdir())
    }


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(list(Attempt)), max_size=12))
def test_a_campaign_ends_with_the_planned_runs_whatever_happens(script: list[Attempt]) -> None:
    with world(script) as made:
        folder = made.start()
        planned = [plan.run_id for plan in folder.campaign.runs]
        before = finished(folder)
        for _ in range(len(script) + 1):
            if all(folder.state_of(plan) is RunState.CHECKED for plan in folder.campaign.runs):
                break
            made.go_on(folder)
            now = finished(folder)
            assert before.items() <= now.items(), "a finished run was touched"
            before = now
        assert [run.plan.run_id for run in folder.runs()] == planned
        assert all(run.state is RunState.CHECKED for run in folder.runs())
        assert [run.plan for run in folder.runs()] == list(folder.campaign.runs)
        # Each attempt that gave no measurement is still there, under the name of its run and of what became of it.
        without = [run_id for run_id, attempt in made.attempts if attempt in (Attempt.KILLED, Attempt.FAILED)]
        aside = folder.attempts_aside()
        assert sorted(name.rpartition(".")[0] for name in aside) == sorted(without)
        logs = sorted((folder.path / name / "log.txt").read_text() for name in aside)
        assert len(set(logs)) == len(without)
        with pytest.raises(CannotResume, match=r"campaign c is complete, all 4 runs.*lockbench report --campaign c"):
            resume(LoadRuns(made.supervisor), folder)


def test_each_time_it_goes_on_is_recorded() -> None:
    with world([Attempt.KILLED, Attempt.KILLED]) as made:
        folder = made.start()
        assert folder.resumptions() == ()
        made.go_on(folder)
        made.go_on(folder)
        assert [one.environment for one in folder.resumptions()] == [campaigns.environment()] * 2
        assert folder.attempts_aside() == ("memory-uncontended-01.interrupted-1", "memory-uncontended-01.interrupted-2")


def test_a_run_that_was_only_measured_gets_its_checks_and_no_new_load() -> None:
    with world([Attempt.FINISHED, Attempt.KILLED_BEFORE_CHECK]) as made:
        folder = made.start()
        second = folder.campaign.runs[1]
        measured = (folder.run(second.run_id).path / "measured.json").read_bytes()
        assert folder.state_of(second) is RunState.MEASURED
        made.go_on(folder)
        assert folder.state_of(second) is RunState.CHECKED
        assert (folder.run(second.run_id).path / "measured.json").read_bytes() == measured
        assert [run_id for run_id, _ in made.attempts].count(second.run_id) == 1
        assert folder.attempts_aside() == ()


def test_a_folder_without_a_plan_is_set_aside_too() -> None:
    """Killed between making the folder and writing the plan into it."""
    with world([Attempt.FINISHED, Attempt.KILLED]) as made:
        folder = made.start()
        third = folder.campaign.runs[2]
        (folder.path / third.run_id).mkdir()
        made.go_on(folder)
        assert f"{third.run_id}.interrupted-1" in folder.attempts_aside()
        assert all(folder.state_of(plan) is RunState.CHECKED for plan in folder.campaign.runs)


def test_unreadable_events_are_one_message_and_the_measurement_stays() -> None:
    with world([Attempt.KILLED_BEFORE_CHECK]) as made, pytest.MonkeyPatch.context() as patch:
        folder = made.start()
        run = folder.run(folder.campaign.runs[0].run_id)
        run.events_path.write_bytes(b"no Parquet")
        patch.setattr(load_runs, "check_run", check_run)
        with pytest.raises(StoreError, match=r"events\.parquet cannot be read.*Rename memory-uncontended-01"):
            resume(LoadRuns(made.supervisor), folder)
        assert run.state is RunState.MEASURED


CHANGES = {
    "lockbench_version": (r"lockbench changed: version .* then, 0\.1\.0 now", "0.0.9"),
    "git_commit": (r"lockbench changed: commit fedcba then, 0123456789ab now", "fedcba"),
}


@pytest.mark.parametrize("field", CHANGES)
def test_another_lockbench_is_refused_before_anything_is_changed(field: str) -> None:
    told, recorded = CHANGES[field]
    with world([Attempt.KILLED]) as made:
        folder = made.start()
        record = folder.campaign.model_copy(update={field: recorded})
        (folder.path / "campaign.json").write_text(record.model_dump_json())
        with pytest.raises(CannotResume, match=told) as refused:
            resume(LoadRuns(made.supervisor), folder)
        assert "start a new campaign" in str(refused.value)
        assert folder.attempts_aside() == ()
        assert folder.resumptions() == ()


def test_another_schema_is_refused_with_what_to_do() -> None:
    with world([Attempt.KILLED]) as made:
        folder = made.start()
        text = (folder.path / "campaign.json").read_text()
        (folder.path / "campaign.json").write_text(text.replace('"schema_version": 1', '"schema_version": 2', 1))
        with pytest.raises(StoreError, match=r"schema version 2; this lockbench reads 1.*measure again"):
            resume(LoadRuns(made.supervisor), folder)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kernel": "6.9"}, "kernel 6.1.0-synthetic then, 6.9 now"),
        ({"libraries": {"redis": "9"}}, r"library redis 0\.0\.0 then, 9 now"),
        ({"libraries": {}}, r"library redis 0\.0\.0 then, not recorded now"),
        ({"memory_bytes": 4 * 2**30}, "memory 128 x 64 MiB then, 64 x 64 MiB now"),
    ],
)
def test_another_machine_is_refused(changes: dict[str, object], told: str) -> None:
    with world([Attempt.KILLED]) as made, pytest.MonkeyPatch.context() as patch:
        folder = made.start()
        patch.setattr(
            carrying_out, "capture_environment", lambda *_: campaigns.environment().model_copy(update=changes)
        )
        with pytest.raises(CannotResume, match=told):
            resume(LoadRuns(made.supervisor), folder)
        assert folder.resumptions() == ()


def test_what_is_measured_anew_each_time_may_differ() -> None:
    now = {
        "fdatasync_us_p50": 1.0,
        "loopback_rtt_us_p50": 2.0,
        "load_average_1m": 3.0,
        "memory_bytes": 8 * 2**30 - 4096,
    }
    with world([Attempt.FINISHED, Attempt.KILLED]) as made, pytest.MonkeyPatch.context() as patch:
        folder = made.start()
        patch.setattr(carrying_out, "capture_environment", lambda *_: campaigns.environment().model_copy(update=now))
        made.go_on(folder)
        assert what_is_complete(folder)


def what_is_complete(folder: CampaignFolder) -> bool:
    with pytest.raises(CannotResume, match="is complete"):
        what_is_left(folder)
    return True


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": "7.2"}, r"version 7\.0 then, 7\.2 now"),
        ({"nodes": 3}, "nodes 1 then, 3 now"),
        ({"durability": {"appendonly": "yes", "role": "leader"}}, "durability appendonly no then, yes now"),
        ({"durability": {"role": "leader"}}, "durability appendonly no then, not recorded now"),
    ],
)
def test_other_servers_are_refused(change: dict[str, object], told: str) -> None:
    facts = Facts(version="7.0", identity="a", durability={"appendonly": "no", "role": "leader"}, nodes=1)
    before = what_must_agree("native", "", facts)
    same = facts.model_copy(update={"identity": "b", "durability": {"appendonly": "no", "role": "follower"}})
    refuse_other_facts("c", "Redis", before, what_must_agree("native", "", same))
    with pytest.raises(CannotResume, match=rf"because Redis changed: {told}"):
        refuse_other_facts("c", "Redis", before, what_must_agree("native", "", facts.model_copy(update=change)))
    with pytest.raises(CannotResume, match="source native then, compose now"):
        refuse_other_facts("c", "Redis", before, what_must_agree("compose", "", facts))


def test_servers_are_compared_with_what_the_finished_runs_recorded() -> None:
    """memory's own facts now, against a record that another version had left."""
    with world([Attempt.FINISHED, Attempt.FINISHED, Attempt.KILLED]) as made:
        made.forged_facts = True
        folder = made.start()
        with pytest.raises(CannotResume, match=r"version 7\.0\.15 then, .* now") as refused:
            resume(LoadRuns(made.supervisor), folder)
        assert "source native then, none now" in str(refused.value)
        assert folder.attempts_aside() == ()


def test_a_plan_alone_cannot_go_on() -> None:
    with world([Attempt.KILLED]) as made:
        folder = made.start()
        (folder.path / "environment.json").unlink()
        with pytest.raises(CannotResume, match=r"interrupted before its first run\. Start it again"):
            resume(LoadRuns(made.supervisor), folder)


def test_two_at_once_do_not_meet_in_one_campaign() -> None:
    with world([Attempt.KILLED]) as made:
        folder = made.start()
        with folder.held(), pytest.raises(StoreError, match=r"another lockbench is measuring .*: wait for its end"):
            resume(LoadRuns(Supervisor(made.root / "another home")), folder)


def test_a_failure_tells_how_to_go_on() -> None:
    with world([Attempt.FAILED]) as made:
        runs = plan_runs("c", choose_systems(["null"]), ["uncontended"], QUICK, 2, seed=1)
        with pytest.raises(CampaignIncomplete, match=r"1 of 2 runs .* `lockbench run --resume c`"):
            start(LoadRuns(made.supervisor), new_campaign("quick", 1, runs), made.store)
        folder = made.store.open(CampaignFolder, "c")
        assert folder.run(runs[0].run_id).failed == Failed(phase="load", reason="planted")
        made.go_on(folder)
        assert folder.attempts_aside() == ("null-uncontended-01.failed-1",)
