"""A campaign's order is seeded, interleaved and complete."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign.modes import QUICK, WORKLOADS, choose_systems, choose_workloads, plan_runs
from bench.errors import LockbenchError
from bench.systems.registry import HEADLINE


@given(st.integers(1, 2**31), st.integers(1, 7))
def test_every_repetition_is_one_block_of_all_cells(seed: int, repetitions: int) -> None:
    systems = choose_systems(["all"])
    runs = plan_runs("c", systems, WORKLOADS, QUICK, repetitions, seed)
    cells = {(entry.name, name) for entry in systems for name in WORKLOADS}
    for block in range(repetitions):
        part = runs[block * len(cells) : (block + 1) * len(cells)]
        assert {(run.system, run.workload.name) for run in part} == cells
        assert {run.repetition for run in part} == {block + 1}
    assert len({run.run_id for run in runs}) == len(runs)
    assert [run.position for run in runs] == list(range(len(runs)))


def test_the_seed_decides_the_order() -> None:
    systems = choose_systems(["all"])
    assert plan_runs("c", systems, WORKLOADS, QUICK, 2, 7) == plan_runs("c", systems, WORKLOADS, QUICK, 2, 7)
    assert plan_runs("c", systems, WORKLOADS, QUICK, 2, 7) != plan_runs("c", systems, WORKLOADS, QUICK, 2, 8)


def test_all_means_the_six_and_their_durable_siblings() -> None:
    names = [entry.name for entry in choose_systems(["all"])]
    assert set(HEADLINE) <= set(names)
    assert len(HEADLINE) == 6
    assert {"redis-aof", "redlock-aof"} <= set(names)


def test_unknown_names_are_told_with_those_that_exist() -> None:
    with pytest.raises(LockbenchError, match="no system 'mongo': choose from redis"):
        choose_systems(["mongo"])
    with pytest.raises(LockbenchError, match="no workload 'fast': choose from uncontended"):
        choose_workloads(["fast"])
