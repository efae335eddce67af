"""The sweeps that come with the bench fit every system, and `every` means each way to wait that a system knows."""

from pathlib import Path

import pytest

from bench.campaign.asked import CELLS_AT_MOST, by_options
from bench.campaign.load_plans import RUNS_AT_MOST, plan_runs
from bench.campaign.modes import FULL, MODES, QUICK, REFERENCE, Asked, Mode
from bench.campaign.workload_file import PLANS, BadWorkload, plan_of_the_bench, read_workload_file
from bench.records.ladder import steps_to
from bench.records.workload import CONTENDED, CONTENDED_RATE, JOBS, UNCONTENDED, UNGUARDED, WAYS
from bench.systems.registry import HEADLINE, SYSTEMS, system
from bench.systems.wait import Wait, ways_to_wait

WORKLOADS_OF = {
    "availability": (CONTENDED_RATE,),
    "contention": (UNCONTENDED, CONTENDED, CONTENDED_RATE),
    "jobs": JOBS,
    "network": (UNCONTENDED, CONTENDED),
    "strangers": (CONTENDED,),
}


@pytest.mark.parametrize(("name", "mode"), [(one.parent.name, one.stem) for one in sorted(PLANS.glob("*/*.yaml"))])
def test_every_plan_can_be_measured_on_all_its_systems(name: str, mode: str) -> None:
    path = plan_of_the_bench(name, mode)
    assert path is not None
    file = read_workload_file(path, MODES[mode])
    assert {entry.name for entry in file.systems} >= set(HEADLINE)
    assert file.repetitions is not None
    runs = plan_runs("c", file.systems, file.cells, MODES[mode], file.repetitions, seed=1)
    assert len({run.run_id for run in runs}) == len(runs) <= RUNS_AT_MOST
    assert len(file.cells) <= CELLS_AT_MOST
    measured = {run.workload.name for run in runs}
    assert measured == {*WORKLOADS_OF[name]} or (mode == QUICK.name and measured < {*WORKLOADS_OF[name]})
    if name != "contention":
        return
    asked = {(run.system, Wait.parse(run.workload.wait).strategy) for run in runs}
    for entry in file.systems:
        known = entry.client_class.capabilities.wait_strategies
        assert {strategy for name, strategy in asked if name == entry.name} >= {*known} - {"try"}


def loaded_s(mode: Mode, name: str = "contention") -> float:
    path = plan_of_the_bench(name, mode.name)
    assert path is not None
    file = read_workload_file(path, mode)
    runs = plan_runs("c", file.systems, file.cells, mode, file.repetitions or 0, seed=1)
    assert not any(steps_to(run.workload.clients) and run.workload.step_s for run in runs)
    return sum(run.workload.warmup_s + run.workload.measure_s for run in runs)


def test_the_contention_sweeps_keep_to_their_time() -> None:
    assert loaded_s(QUICK) < 4 * 60
    assert loaded_s(REFERENCE) < 22 * 60


def test_the_sweep_of_networks_keeps_to_its_time_and_has_enough_of_them() -> None:
    assert loaded_s(QUICK, "network") < 2.5 * 60  # of at most six minutes: the rest is starting and probing
    for mode in (QUICK, FULL, REFERENCE):
        path = plan_of_the_bench("network", mode.name)
        assert path is not None
        asked = [
            (one.changes["network"], one.changes.get("peer_network")) for one in read_workload_file(path, mode).cells
        ]
        networks = {network for network, peers in asked if peers is None}
        assert len(networks) >= 5
        assert "none" not in networks
        peers = [(network, peers) for network, peers in asked if peers is not None]
        least = 3 if mode is REFERENCE else 5  # what a slope needs, in a quarter of an hour
        assert len({between for network, between in peers if network == "rtt=0ms"}) >= least
        assert len([network for network, _ in peers if network != "rtt=0ms"]) >= 2, "for the model's test"


def test_the_sweep_of_jobs_keeps_to_its_time_and_has_every_way() -> None:
    assert loaded_s(QUICK, "jobs") < 2.5 * 60
    for mode in ("quick", "full"):
        path = plan_of_the_bench("jobs", mode)
        assert path is not None
        asked = {str(cell.changes["way"]) for cell in read_workload_file(path, MODES[mode]).cells}
        assert asked == {*WAYS} - {UNGUARDED}


@pytest.mark.parametrize("mode", [QUICK, FULL], ids=lambda mode: mode.name)
def test_strangers_stand_beside_one_and_many_with_and_without_a_pool(mode: Mode) -> None:
    path = plan_of_the_bench("strangers", mode.name)
    assert path is not None
    file = read_workload_file(path, mode)
    assert {entry.name for entry in file.systems} == {*HEADLINE}
    cells = [one for asked in file.cells for one in asked.cells_on(system("redis"), mode)]
    found = {(one.meeting_clients, one.strangers, one.pool) for one in cells}
    assert found >= {(meeting, 8, pool) for meeting in (1, 32) for pool in (0, 8)}
    assert {one.hold_ms for one in cells} == {5.0}


def test_the_sweep_of_strangers_keeps_to_its_time() -> None:
    assert loaded_s(QUICK, "strangers") < 2.5 * 60


def test_a_cell_may_be_for_some_of_the_systems_only(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "systems: [redis, etcd]\n"
        "busy: {workload: contended, wait: herd, systems: [etcd]}\n"
        "all of them: {workload: contended}"
    )
    file = read_workload_file(path, QUICK)
    runs = plan_runs("c", file.systems, file.cells, QUICK, 1, seed=1)
    assert sorted((run.system, run.workload.label) for run in runs) == [
        ("etcd", "all of them"), ("etcd", "busy"), ("redis", "all of them"),
    ]  # fmt: skip
    path.write_text("busy: {workload: contended, systems: [nosuch]}")
    with pytest.raises(BadWorkload, match=r"line 1, systems: .*nosuch"):
        read_workload_file(path, QUICK)


def test_a_sweep_that_has_no_such_mode_names_those_that_it_has() -> None:
    with pytest.raises(BadWorkload, match="contention has no nosuch sweep: it has full, quick, reference"):
        plan_of_the_bench("contention", "nosuch")


def test_there_is_no_plan_of_another_name() -> None:
    assert plan_of_the_bench("nosuch", "quick") is None
    assert plan_of_the_bench("../plans/contention", "quick") is None


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
