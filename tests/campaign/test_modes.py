"""A campaign's order is seeded, interleaved and complete."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.campaign.load_plans import plan_runs
from bench.campaign.modes import (
    FULL,
    MODES,
    QUICK,
    REFERENCE,
    REGULAR,
    WORKLOADS,
    Mode,
    choose_systems,
    choose_workloads,
    workload_of,
)
from bench.campaign.warming import ROUNDS_AT_ONCE
from bench.errors import LockbenchError
from bench.records.ladder import steps_to
from bench.records.workload import MEETING, OPEN_LOOPS, Workload
from bench.systems.registry import HEADLINE, system


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
        choose_workloads(["fast"], QUICK)


def test_quick_keeps_three_workloads_and_full_has_all_with_six_runs() -> None:
    assert choose_workloads(["all"], QUICK) == ("uncontended", "contended", "saturation")
    assert choose_workloads(["all"], FULL) == REGULAR == WORKLOADS[:5]
    assert choose_workloads(["rate", "all", "rate"], QUICK) == ("rate", "uncontended", "contended", "saturation")
    assert FULL.repetitions >= 6


def load_s(name: str, mode: Mode) -> float:
    """From the start of the warm-up to the end of the window."""
    found = workload_of(name, system("redis"), mode)
    climb_s = len(steps_to(found.clients)) * found.step_s
    return found.warmup_s + climb_s + found.measure_s


def test_the_climb_makes_a_quick_run_no_longer() -> None:
    assert load_s("saturation", QUICK) == pytest.approx(load_s("uncontended", QUICK))


@pytest.mark.parametrize("mode", [FULL, REFERENCE])
def test_what_is_quoted_is_measured_as_users_are_told_to(mode: Mode) -> None:
    assert mode.workloads == REGULAR
    assert min(workload_of(name, system("redis"), mode).measure_s for name in WORKLOADS) >= 10


def test_a_campaign_of_the_reference_fits_into_twenty_minutes() -> None:
    systems = choose_systems(["all"])
    runs = plan_runs("c", systems, REGULAR, REFERENCE, REFERENCE.repetitions, seed=1)
    start_s = 1.0  # of the load, for each run; measured on a quiet machine
    measuring_s = sum(load_s(run.workload.name, REFERENCE) + start_s for run in runs)
    # One set of servers warms up as long as it may (a JVM), the others for two starts of the load.
    once_s = ROUNDS_AT_ONCE * REFERENCE.warming_round_s + start_s
    longest_s = REFERENCE.warming_rounds_at_most / ROUNDS_AT_ONCE * once_s
    servers_s = 20.0
    assert len(runs) == 8 * 5 * 2
    assert measuring_s + longest_s + 5 * 2 * once_s + servers_s < 20 * 60


def test_a_quick_campaign_warms_its_servers_for_no_longer_than_a_run() -> None:
    assert QUICK.warming_round_s * QUICK.warming_rounds_at_most <= QUICK.measure_s


@pytest.mark.parametrize("mode", MODES.values())
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_has_its_parameters(name: str, mode: Mode) -> None:
    found = workload_of(name, system("etcd"), mode)
    assert found.name == name
    assert (found.rate_per_s > 0) == (name in OPEN_LOOPS)
    assert (found.zipf_exponent > 0) == (name == "hot-cold")
    assert (found.step_s > 0) == (name == "saturation")
    assert found.wait == ("watch" if name in MEETING else "try")
    assert found.rate_per_s * found.measure_s >= 368 or name != "rate", "a p99 needs as many"


def test_parameters_of_new_workloads_leave_old_digests_alone() -> None:
    old = Workload(name="contended", clients=8, keys=1, hold_ms=1.0, wait="watch")
    assert old.digest == "4cf8249e"
    assert old.model_copy(update={"rate_per_s": 5.0}).digest != old.digest
    assert old.model_copy(update={"step_s": 0.2}).digest != old.digest
    assert old.model_copy(update={"think_ms": 5.0}).digest != old.digest
