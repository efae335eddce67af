"""Which faults a run of load can have: by what a system's servers are, and never by its name."""

import contextlib
from pathlib import Path
from typing import cast

import pytest

from bench.analysis.contention.fault_kinds import faults_of, majority, minority
from bench.campaign.asked import BadWorkload, by_options
from bench.campaign.load_plans import plan_runs
from bench.campaign.load_runs import _mended
from bench.campaign.modes import QUICK, choose_systems
from bench.campaign.workload_file import plan_of_the_bench, read_workload_file
from bench.errors import LockbenchError
from bench.hazards.lab.servers import LabServers
from bench.load.runner import _command
from bench.records.schema import RunPlan
from bench.records.workload import FAULTS, NO_FAULT, Workload
from bench.systems.registry import SYSTEMS, system

ONE = {"leader-killed", "holder-killed"}
NODES = {"minority-stopped", "majority-stopped"}


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("redis", ONE),
        ("postgres-row", ONE),
        ("redlock", {*NODES, "holder-killed"}),
        ("etcd", {*ONE, *NODES}),
        ("zookeeper", {*ONE, *NODES}),
        ("memory", set()),
    ],
)
def test_a_system_has_the_faults_that_its_servers_can_have(name: str, faults: set[str]) -> None:
    assert set(faults_of(system(name))) == faults


def test_a_majority_is_one_more_than_the_others_can_do_without() -> None:
    found = {len(one.servers.node_names) for one in SYSTEMS.values() if one.servers is not None}
    assert {nodes: (minority(nodes), majority(nodes)) for nodes in found} == {
        1: (0, 1), 2: (0, 1), 3: (1, 2), 5: (2, 3),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("systems", "given", "why"),
    [
        (
            ["redis"],
            {"fault": "minority-stopped"},
            "--fault: redis cannot have minority-stopped: it has fewer than three servers, so no minority",
        ),
        (["redlock"], {"fault": "leader-killed"}, "redlock cannot have leader-killed: its servers elect no leader"),
        (["memory"], {"fault": "holder-killed"}, "memory cannot have holder-killed: it has no servers"),
        (["memory"], {"fault": "every"}, "--fault: memory can have none: they have no servers"),
        (["redis"], {"fault": "flood"}, "--fault: 'flood' is none of none, leader-killed"),
        (["redis"], {"fault": "holder-killed", "keys": "2"}, "--keys: a fault is measured on one key"),
        (["redis"], {"fault": "leader-killed", "fault-after": "2s"}, "the fault ends 3 s after the window opens"),
    ],
)
def test_what_cannot_be_is_refused(systems: list[str], given: dict[str, str], why: str) -> None:
    with pytest.raises(BadWorkload, match=why):
        by_options(["contended"], given, choose_systems(systems), QUICK)


def test_the_sweep_has_every_fault_of_every_system_within_six_minutes() -> None:
    path = plan_of_the_bench("availability", QUICK.name)
    assert path is not None
    file = read_workload_file(path, QUICK)
    runs = plan_runs("c", file.systems, file.cells, QUICK, file.repetitions or 0, seed=1)
    asked = sorted((run.system, run.workload.fault) for run in runs)
    assert asked == sorted((entry.name, fault) for entry in file.systems for fault in faults_of(entry))
    assert {fault for _, fault in asked} == {*FAULTS} - {NO_FAULT}
    assert sum(run.workload.warmup_s + run.workload.measure_s for run in runs) < 4 * 60
    assert all("availability, " in run.workload.label for run in runs)


def test_a_workload_without_a_fault_keeps_its_digest() -> None:
    old = Workload(name="contended", clients=8, keys=1)
    assert old.digest == Workload(name="contended", clients=8, keys=1, fault=NO_FAULT, fault_s=1.0).digest
    assert old.digest == "6a668960"
    assert old.digest != old.model_copy(update={"fault": "leader-killed"}).digest


def test_records_of_before_faults_are_read() -> None:
    tree = Workload(name="contended", clients=8, keys=1).model_dump()
    old = {name: value for name, value in tree.items() if not name.startswith("fault")}
    assert Workload.model_validate(old) == Workload.model_validate(tree)


class Servers:
    """Servers that only count how often they were mended."""

    mended = 0

    def mend(self) -> None:
        self.mended += 1


@pytest.mark.parametrize(
    ("end", "mended"), [(None, 1), (LockbenchError("the load failed"), 1), (KeyboardInterrupt(), 0), (SystemExit(), 0)]
)
def test_servers_are_mended_for_the_next_run_and_not_where_they_are_about_to_end(
    end: BaseException | None, mended: int
) -> None:
    servers = Servers()
    with contextlib.suppress(LockbenchError, KeyboardInterrupt, SystemExit), _mended(cast(LabServers, servers)):
        if end is not None:
            raise end
    assert servers.mended == mended


def test_a_load_with_a_fault_waits_for_servers_that_come_back(tmp_path: Path) -> None:
    def gives_up_s(**changes: object) -> float:
        workload = Workload.model_validate({"name": "contended", "clients": 8, "keys": 1, **changes})
        plan = RunPlan(campaign_id="c", run_id="r", position=0, system="redis", workload=workload, repetition=1, seed=1)
        argv = _command(plan, tmp_path, {})
        return float(argv[argv.index("--give-up-s") + 1])

    assert gives_up_s() == 2.0
    assert gives_up_s(fault="leader-killed", fault_s=5.0) > 5.0 + 20.0
