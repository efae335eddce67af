"""A part of the reference is a campaign too: of few runs, with void ones, and with trials that came out otherwise."""

import random
from pathlib import Path

import pytest

from tests.judge.hand_made import REFERENCE, Fields, campaign
from tests.judge.records import runs_of
from tests.judge.renderings import alike
from tests.thorough import one_in


def test_one_run_of_each_is_counted_alike(tmp_path: Path) -> None:
    alike(campaign(tmp_path, lambda plan: bool(plan["repetition"] == 1)))


@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_any_part_with_void_runs_is_counted_alike(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    every = [run.run_id for run in runs_of(REFERENCE)]
    played = [one for one in every if chance.random() < 0.25]
    failed, not_as_staged = ([one for one in played if chance.random() < 0.1] for _ in range(2))
    alike(campaign(tmp_path, lambda plan: plan["run_id"] in played, failed=failed, not_as_staged=not_as_staged))


def _otherwise(trial: Fields, chance: random.Random) -> None:
    """Any of what was measured, believed, judged by the resource or done to anybody comes out otherwise."""

    def happens() -> bool:
        return chance.random() < 0.1

    for name, value in trial["measures"].items():
        if name in ("recovery_ms", "blocked_ms") and happens():
            trial["measures"][name] = chance.choice([-1.0, 3.0 * value])
        elif value in (0.0, 1.0) and name not in ("nodes_down", "acquired") and happens():
            trial["measures"][name] = 1.0 - value
    for write in trial["writes"]:
        if write["accepted"] is not None and happens():
            write["accepted"] = not write["accepted"]
    # Of beliefs only where there are writes: elsewhere two holders are not the subject.
    for belief in trial["beliefs"] if trial["writes"] else ():
        if belief["until_ns"] is not None and happens():
            moved_ns = belief["until_ns"] + chance.randrange(-(10**9), 10**9)
            belief["until_ns"] = min(max(belief["from_ns"], moved_ns), trial["ended_ns"])
    for fault in trial["faults"]:
        if fault["ended_ns"] is not None and happens():
            fault["ended_ns"] = fault["began_ns"] + (fault["ended_ns"] - fault["began_ns"]) // chance.choice([1, 2, 3])
        if fault.get("amount") and happens():
            fault["amount"] *= chance.choice([-1.0, 0.2])
    for ask in trial["asks"]:
        if happens():
            ask["outcome"] = "timeout"


@pytest.mark.parametrize("seed", one_in(3, range(3)))
def test_what_comes_out_otherwise_is_counted_alike(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    played = {run.run_id for run in runs_of(REFERENCE) if chance.random() < 0.2}
    folder = campaign(tmp_path, lambda plan: plan["run_id"] in played, edit=lambda trial: _otherwise(trial, chance))
    alike(folder)
