"""The sweeps that come with the bench fit every system, and `every` means each way to wait that a system knows."""

import pytest

from bench.campaign.asked import CELLS_AT_MOST, by_options
from bench.campaign.load_plans import RUNS_AT_MOST, plan_runs
from bench.campaign.modes import FULL, QUICK, Asked, Mode
from bench.campaign.workload_file import PLAN_NAMES, plan_of_the_bench, read_workload_file
from bench.records.ladder import steps_to
from bench.records.workload import CONTENDED, CONTENDED_RATE, UNCONTENDED
from bench.systems.registry import HEADLINE, SYSTEMS, system
from bench.systems.wait import Wait, ways_to_wait


@pytest.mark.parametrize("mode", [QUICK, FULL])
@pytest.mark.parametrize("name", PLAN_NAMES)
def test_every_plan_can_be_measured_on_all_its_systems(name: str, mode: Mode) -> None:
    path = plan_of_the_bench(name, quick=mode is QUICK)
    assert path is not None
    file = read_workload_file(path, mode)
    assert {entry.name for entry in file.systems} == set(HEADLINE)
    assert file.repetitions is not None
    runs = plan_runs("c", file.systems, file.cells, mode, file.repetitions, seed=1)
    assert len({run.run_id for run in runs}) == len(runs) <= RUNS_AT_MOST
    assert len(file.cells) <= CELLS_AT_MOST
    assert {run.workload.name for run in runs} == {UNCONTENDED, CONTENDED, CONTENDED_RATE}
    asked = {(run.system, Wait.parse(run.workload.wait).strategy) for run in runs}
    for entry in file.systems:
        known = entry.client_class.capabilities.wait_strategies
        assert {strategy for name, strategy in asked if name == entry.name} >= {*known} - {"try"}


def test_the_quick_contention_sweep_loads_for_less_than_four_minutes() -> None:
    path = plan_of_the_bench("contention", quick=True)
    assert path is not None
    file = read_workload_file(path, QUICK)
    runs = plan_runs("c", file.systems, file.cells, QUICK, file.repetitions or 0, seed=1)
    assert not any(steps_to(run.workload.clients) and run.workload.step_s for run in runs)
    assert sum(run.workload.warmup_s + run.workload.measure_s for run in runs) < 4 * 60


def test_there_is_no_plan_of_another_name() -> None:
    assert plan_of_the_bench("nosuch", quick=True) is None
    assert plan_of_the_bench("../plans/contention", quick=True) is None


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_is_each_way_to_wait_and_the_default_comes_first(name: str) -> None:
    entry = system(name)
    cells = Asked("contended", {"wait": "every"}, "mine").cells_on(entry, QUICK)
    ways = ways_to_wait(entry.default_wait, entry.client_class.capabilities.wait_strategies)
    assert [cell.wait for cell in cells] == list(ways)
    assert ways[0] == entry.default_wait
    assert len({cell.label for cell in cells}) == len(cells)
    assert all(cell.label == f"mine, wait {cell.wait}" for cell in cells)


def test_every_can_be_asked_for_on_the_command_line() -> None:
    entry = system("memory")
    (asked,) = by_options(["contended"], {"wait": "every"}, [entry], QUICK)
    assert [cell.wait for cell in asked.cells_on(entry, QUICK)] == ["block", "poll-5ms", "backoff-5ms-80ms-full"]
