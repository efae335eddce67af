"""Which hazard runs are planned: seeded, filtered by system, and never a system that a scenario is not about."""

import pytest

from bench.campaign.hazard_plans import FULL, QUICK, choose_scenarios, plan_hazards
from bench.errors import LockbenchError
from bench.hazards.scenario import load_scenario, scenario_names
from bench.records.hazards import HazardCampaign
from bench.systems.registry import UnknownSystem


def planned(
    *names: str, systems: tuple[str, ...] = ("all",), mode: str = QUICK, seed: int = 1, n: int = 1
) -> HazardCampaign:
    return plan_hazards("c", choose_scenarios(names), systems, mode, n, seed)


def test_all_is_every_scenario() -> None:
    assert [one.name for one in choose_scenarios(["all"])] == scenario_names()


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second, other = (planned("gc-pause", seed=seed).runs for seed in (7, 7, 8))
    assert first == second
    assert {run.run_id for run in first} == {run.run_id for run in other}
    assert [run.run_id for run in first] != [run.run_id for run in other] or first[0].seed != other[0].seed


@pytest.mark.parametrize("mode", [QUICK, FULL])
def test_run_ids_are_unique_and_every_repetition_is_a_block(mode: str) -> None:
    campaign = planned("all", mode=mode, n=3)
    ids = [run.run_id for run in campaign.runs]
    assert len(set(ids)) == len(ids)
    assert [run.position for run in campaign.runs] == list(range(len(ids)))
    repetitions = [run.repetition for run in campaign.runs]
    assert repetitions == sorted(repetitions)
    cells = [
        sorted(
            (run.scenario, run.system, sorted(run.parameters.items())) for run in campaign.runs if run.repetition == n
        )
        for n in (1, 2, 3)
    ]
    assert cells[0] == cells[1] == cells[2]


def test_only_the_systems_that_were_asked_for() -> None:
    campaign = planned("gc-pause", systems=("redis", "etcd"))
    assert {run.system for run in campaign.runs} == {"redis", "etcd"}
    assert set(load_scenario("gc-pause").quick or {}) <= {name for run in campaign.runs for name in run.parameters}


def test_a_system_that_does_not_exist_is_told() -> None:
    with pytest.raises(UnknownSystem, match="no system 'reddis'"):
        planned("gc-pause", systems=("reddis",))


def test_a_system_that_no_scenario_is_about_is_told() -> None:
    with pytest.raises(LockbenchError, match="no selected scenario supports null: these scenarios are about redis"):
        planned("gc-pause", systems=("null",))
