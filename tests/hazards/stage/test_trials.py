"""What a trial leaves behind, also one that breaks off: no fault in force, no actor at work, and a true history."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.errors import LockbenchError
from bench.hazards import stage
from bench.hazards.actor_process import ActorFailed, ActorProcess, Interrupted
from bench.hazards.checker import check_history
from bench.hazards.lab.lab import Lab, open_lab
from bench.hazards.resources.base import Judged, Place, ResourceUnreachable
from bench.hazards.resources.referee import RefereeHost
from bench.hazards.run import carry_out
from bench.hazards.scenario import Scenario, ScenarioError
from bench.records.hazards import HazardHistory, HazardPlan

TAKES = {"actor": "holder", "do": "acquire", "expect": "acquired"}
FAILS = {"actor": "holder", "do": "check", "expect": "lost"}  # of a system that grants everything


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with open_lab(tmp_path / "home", []) as opened:
        yield opened


def scenario_of(*steps: dict[str, Any], **more: Any) -> Scenario:
    """On the null system: a client of it needs no server, and is granted everything at once."""
    tree: dict[str, Any] = {
        "name": "made-up", "title": "t", "question": "q", "systems": ["null"],
        "actors": {"holder": {}, "contender": {}}, "parameters": {"ttl_ms": 1000, "n": 1}, "trials": {"n": [1, 2]},
        "steps": steps,
    }  # fmt: skip
    return Scenario.model_validate({**tree, **more})


def played(lab: Lab, tmp_path: Path, scenario: Scenario, stop: threading.Event | None = None) -> HazardHistory:
    plan = HazardPlan(
        campaign_id="c",
        run_id="r",
        position=0,
        scenario=scenario.name,
        system="null",
        parameters=scenario.parameters,
        repetition=1,
        seed=1,
    )
    with (tmp_path / "log.txt").open("a") as log:
        return carry_out(plan, scenario, False, lab, log, stop or threading.Event())


def children() -> set[str]:
    """Actors and resources that this process has started and that are there still."""
    commands = (" ".join(child.cmdline()) for child in psutil.Process().children())
    return {one for one in commands if "bench.hazards.actor" in one or "bench.hazards.resources" in one}


def open_now() -> tuple[int, int]:
    """Descriptors and threads of this process."""
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


def test_a_trial_that_breaks_off_takes_every_fault_back(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the first of them would not end; and the next trial is played by actors that do what they are told."""
    resume, would_not = ActorProcess.resume, [True]

    def resumed(actor: ActorProcess) -> int:
        ended_ns = resume(actor)
        if actor.name == "contender" and would_not.pop():
            would_not.append(False)
            raise ActorFailed("contender did not go on")
        return ended_ns

    monkeypatch.setattr(ActorProcess, "resume", resumed)
    pauses = [{"fault": "pause", "target": name, "when": {"n": 1}} for name in ("holder", "contender")]
    broken = {**FAILS, "later": True, "when": {"n": 1}}
    scenario = scenario_of(
        TAKES,
        *pauses,
        broken,
        {"end": "pause", "target": "holder", "when": {"n": 1}},
        {"await": "holder"},
        {"actor": "holder", "do": "release"},
    )
    history = played(lab, tmp_path, scenario)
    assert history.staging == (
        "trial 1: holder check: lost was staged, held came",
        "trial 1: contender did not go on",
    )
    first, second = history.trials
    assert [fault.target for fault in first.faults] == ["holder"]
    assert [belief.ended_by for belief in second.beliefs] == ["released"]
    assert not children()


def test_an_actor_that_is_still_at_work_is_replaced(lab: Lab, tmp_path: Path) -> None:
    """It is not waited for: what it was asked may take longer than any trial."""
    works = {"actor": "contender", "do": "contend", "grants": 1, "hold": "600 s", "when": {"n": 1}, "later": True}
    begun = {"await": "contender", "until": "asking", "when": {"n": 1}}
    history = played(lab, tmp_path, scenario_of(works, begun, {"actor": "holder", "do": "acquire"}))
    assert [len(trial.asks) for trial in history.trials] == [2, 1]
    assert history.staging == ()


def test_what_comes_after_the_end_of_a_trial_is_no_part_of_it(lab: Lab, tmp_path: Path) -> None:
    """The holder is stopped to the end, and is granted the lock only when it is let go on."""
    asks = {"actor": "holder", "do": "acquire", "later": True}
    long = {"fault": "stall", "target": "contender", "for": "300 ms"}  # ends after the pause has ended
    history = played(lab, tmp_path, scenario_of(long, {"fault": "pause", "target": "holder"}, asks))
    assert [trial.beliefs for trial in history.trials] == [(), ()]
    checked = check_history(history, history.staging)  # it does not contradict itself
    assert [trial.never_served for trial in checked.trials] == [0, 0]


def test_an_actor_that_was_killed_while_it_was_stopped(lab: Lab, tmp_path: Path) -> None:
    killed = {"fault": "kill", "target": "holder"}
    history = played(lab, tmp_path, scenario_of(TAKES, {"fault": "pause", "target": "holder"}, killed))
    assert history.staging == ()
    assert [belief.ended_by for trial in history.trials for belief in trial.beliefs] == ["killed", "killed"]
    assert not children()


def test_a_resource_that_is_gone_fails_the_run_in_words(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(_host: RefereeHost, _place: Place, _key: str) -> Sequence[Judged]:
        raise ResourceUnreachable("referee: connection refused")

    monkeypatch.setattr(RefereeHost, "judged", silent)
    with pytest.raises(stage.ResourceLost, match="does not tell its log of trial 1: referee: connection refused"):
        played(lab, tmp_path, scenario_of(TAKES))
    assert issubclass(stage.ResourceLost, LockbenchError)
    assert not children()


def test_one_failure_ends_the_trials_beside_it(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    started = stage.Stage.play

    def play(one: stage.Stage) -> stage.Played:
        told.append(one._name)
        if one._name == "1":
            raise LockbenchError("no stage")
        return started(one)

    monkeypatch.setattr(stage.Stage, "play", play)
    scenario = scenario_of(TAKES, {"pass": "1 ttl"}, trials={"n": list(range(20))}, side_by_side=2)
    with pytest.raises(LockbenchError, match="no stage"):
        played(lab, tmp_path, scenario)
    assert len(told) <= 3
    assert not children()


def test_an_end_that_was_asked_for_leaves_nobody(lab: Lab, tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    with pytest.raises(Interrupted):
        played(lab, tmp_path, scenario_of({"fault": "pause", "target": "holder"}, {"pass": "60 s"}), stop)
    assert not children()


def test_runs_leave_no_descriptor_and_no_thread(lab: Lab, tmp_path: Path) -> None:
    scenario = scenario_of(TAKES, {"fault": "kill", "target": "holder"})
    played(lab, tmp_path, scenario)
    before = open_now()
    for _ in range(3):
        played(lab, tmp_path, scenario)
    assert open_now() == before


def test_nobody_waits_for_an_ask_that_was_not_told(lab: Lab, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="holder has no acquire"):
        played(lab, tmp_path, scenario_of({"await": "holder", "until": "asking"}))
