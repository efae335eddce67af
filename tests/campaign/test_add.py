"""Runs are added to a campaign where nothing that makes a number has changed, and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bench.campaign import add, carrying_out, same_experiment
from bench.campaign.add import runs_to_add
from bench.campaign.load_runs import LoadRuns
from bench.campaign.modes import choose_systems
from bench.campaign.same_experiment import CannotResume
from bench.records.schema import RunState
from bench.records.store import CampaignFolder
from tests import campaigns
from tests.campaign.test_resume import Attempt, World, finished, world


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(carrying_out, "capture_environment", lambda *_: campaigns.environment())
    with world([]) as found:
        yield found


def test_added_runs_go_on_where_the_plan_ends(made: World) -> None:
    folder = made.start(repetitions=2)
    before = finished(folder)
    planned = folder.campaign.runs
    more = runs_to_add(folder.campaign, choose_systems(["null"]), ["uncontended", "contended"], 2)
    carrying_out.add(LoadRuns(made.supervisor), folder, more)
    together = folder.campaign.runs
    assert together[: len(planned)] == planned
    assert [run.position for run in together] == list(range(len(planned) + 4))
    assert {run.run_id for run in together[len(planned) :]} == {
        *("null-uncontended-03", "null-uncontended-04", "null-contended-01", "null-contended-02")
    }
    assert {folder.state_of(run) for run in together} == {RunState.CHECKED}
    assert before.items() <= finished(folder).items(), "nothing of before was touched"
    assert len(folder.additions()) == 1
    old, new = (next(run for run in together if run.run_id == f"null-uncontended-{number}") for number in ("02", "03"))
    assert old.workload.digest == new.workload.digest, "they may be pooled"


def test_an_addition_that_was_interrupted_is_gone_on_with(made: World) -> None:
    folder = made.start(repetitions=1)
    made.script = [Attempt.FINISHED, Attempt.KILLED]
    more = runs_to_add(folder.campaign, choose_systems(["null"]), ["contended"], 3)
    made._until_killed(lambda: carrying_out.add(LoadRuns(made.supervisor), folder, more))
    made.go_on(folder)
    assert {folder.state_of(run) for run in folder.campaign.runs} == {RunState.CHECKED}
    assert len(folder.campaign.runs) == 2 + 3


@contextmanager
def of_another_commit() -> Iterator[None]:
    """A later lockbench, whose code that measures is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(same_experiment, "git_commit", lambda: "another")
        yield


def interrupted(made: World) -> CampaignFolder:
    """A campaign to which three runs were being added."""
    folder = made.start(repetitions=1)
    made.script = [Attempt.FINISHED, Attempt.KILLED]
    more = runs_to_add(folder.campaign, choose_systems(["null"]), ["contended"], 3)
    made._until_killed(lambda: carrying_out.add(LoadRuns(made.supervisor), folder, more))
    assert {folder.state_of(run) for run in folder.campaign.runs} == {RunState.CHECKED, RunState.INTERRUPTED, None}
    return folder


def test_an_addition_resumes_with_another_commit_as_it_was_added_with_one(made: World) -> None:
    folder = interrupted(made)
    before = finished(folder)
    with of_another_commit():
        made.go_on(folder)
    assert {folder.state_of(run) for run in folder.campaign.runs} == {RunState.CHECKED}
    assert before.items() <= finished(folder).items(), "nothing of before was touched"
    assert len(folder.resumptions()) == 1


def test_an_addition_does_not_resume_with_other_code(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = interrupted(made)
    monkeypatch.setattr(carrying_out, "measuring_code", lambda: "0" * 16)
    with (
        of_another_commit(),
        pytest.raises(CannotResume, match=r"code that measures \w{16} then, 0{16} now.*resume with the lockbench"),
    ):
        carrying_out.resume(LoadRuns(made.supervisor), folder)
    assert folder.resumptions() == ()


def test_what_is_left_of_the_plan_itself_wants_the_same_commit(made: World) -> None:
    made.script = [Attempt.KILLED]
    folder = made.start(repetitions=1)
    more = runs_to_add(folder.campaign, choose_systems(["null"]), ["contended"], 1)
    carrying_out.add(LoadRuns(made.supervisor), folder, more)
    with of_another_commit(), pytest.raises(CannotResume, match="commit 0123456789ab then, another now"):
        carrying_out.resume(LoadRuns(made.supervisor), folder)


def test_code_that_measures_must_be_the_same(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made.start(repetitions=1)
    monkeypatch.setattr(add, "measuring_code", lambda: "0" * 16)
    with pytest.raises(CannotResume, match=r"lockbench changed: code that measures \w{16} then, 0{16} now"):
        runs_to_add(folder.campaign, choose_systems(["null"]), ["contended"], 1)


def test_a_campaign_that_does_not_say_by_which_code_gets_no_more_runs(made: World) -> None:
    older = made.start(repetitions=1).campaign.model_copy(update={"measuring_code": ""})
    with pytest.raises(CannotResume, match="not recorded then"):
        runs_to_add(older, choose_systems(["null"]), ["contended"], 1)


def test_the_machine_must_be_the_same(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made.start(repetitions=1)
    other = campaigns.environment().model_copy(update={"kernel": "another"})
    monkeypatch.setattr(carrying_out, "capture_environment", lambda *_: other)
    more = runs_to_add(folder.campaign, choose_systems(["null"]), ["contended"], 1)
    with pytest.raises(CannotResume, match=r"kernel 6\.1\.0-synthetic then, another now"):
        carrying_out.add(LoadRuns(made.supervisor), folder, more)
    assert folder.additions() == ()
