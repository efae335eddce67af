"""Two campaigns side by side, and several as one body of evidence."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.cells import Absent
from bench.analysis.comparing import Campaigns, Line, compare
from bench.analysis.evidence import Evidence
from bench.analysis.floor import over_floor
from bench.analysis.intervals import Estimate, Method
from bench.analysis.places import find_campaign, members, reference_campaign
from bench.records.store import CampaignFolder, StoreError
from tests import campaigns
from tests.jobs import made_up
from tests.report import test_strangers as strangers

SYSTEMS, WORKLOADS = ("redis", "etcd", "zookeeper"), ("uncontended", "saturation")


def campaign(root: Path, name: str, slower: float = 1.0, runs: int = 6, **environment: object) -> CampaignFolder:
    """A made-up campaign in a folder of that name; `slower` is by how much everything takes longer."""
    plans = campaigns.plans(SYSTEMS, WORKLOADS, runs, campaign_id=name)
    folder = campaigns.start(root, plans)
    for plan in plans:
        shape = campaigns.SHAPES[plan.system]
        shape = replace(shape, median_us=shape.median_us * slower, pairs_per_s=shape.pairs_per_s / slower)
        campaigns.add_run(folder, plan, campaigns.measured(plan, shape))
    path = folder.path / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **environment}), encoding="utf-8")
    return folder


def line(found: Campaigns, system: str, column: str, workload: str = "uncontended") -> Line:
    return next(one for one in found.lines if (one.system, one.workload, one.column) == (system, workload, column))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[CampaignFolder, CampaignFolder]:
    """One host, and another on which both the network and everything else take twice as long."""
    root = tmp_path_factory.mktemp("two")
    slow = {"loopback_rtt_us_p50": 62.0, "fdatasync_us_p50": 1_700.0, "kernel": "6.2"}
    return campaign(root, "a"), campaign(root, "b", slower=2.0, **slow)


@pytest.fixture(scope="module")
def compared(folders: tuple[CampaignFolder, CampaignFolder]) -> Campaigns:
    a, b = (Evidence.load(folder) for folder in folders)
    return compare(a, b)


def test_what_is_meant_to_travel_does_and_what_is_of_the_host_does_not(compared: Campaigns) -> None:
    for system in SYSTEMS:
        latency, floors = (line(compared, system, column) for column in ("p50, ms", "p50 / floor"))
        assert latency.ratio is not None
        assert latency.ratio.value == pytest.approx(2.0, rel=0.05)
        assert (latency.lies_within, floors.lies_within) == (False, True)
        assert (latency.travels, floors.travels) == (False, False)
        for column in ("p50, share", "client CPU, share"):
            share = line(compared, system, column)
            assert (share.travels, share.lies_within) == (True, True)
            assert share.ratio is not None
            assert share.ratio.contains(1.0)
        assert line(compared, system, "pairs/s", "saturation").lies_within is False
        for column in ("round trips", "durable writes"):
            assert line(compared, system, column).lies_within


def test_the_tally_counts_cells_by_column_those_that_travel_first(compared: Campaigns) -> None:
    tallies = compared.tallies()
    assert [one.travels for one in tallies] == sorted((one.travels for one in tallies), reverse=True)
    told = {one.column: (one.within, one.compared) for one in tallies}
    assert told["p50 / floor"] == (3, 3)
    assert told["p50, share"] == (3, 3)
    assert told["p50, ms"] == (0, 6)


def test_only_what_differs_is_listed_and_the_rest_is_named(compared: Campaigns) -> None:
    assert {name for name, _, _ in compared.differences} == {"kernel", "fdatasync p50", "loopback round trip"}
    assert {"processor", "commit", "placement", "redis server"} <= set(compared.same)


def test_a_bound_is_not_compared_but_for_a_lone_clients_own_processor(
    folders: tuple[CampaignFolder, CampaignFolder],
) -> None:
    a, b = (Evidence.load(folder) for folder in folders)
    for bounds, compared in (((), True), (("client",), True), (("machine",), False)):
        told = [replace(one, rows=tuple(replace(row, bounds=bounds) for row in one.rows)) for one in (a, b)]
        found = line(compare(*told), "redis", "p50, ms")
        assert (found.lies_within is not None) == (found.ratio is not None) == compared


def test_latencies_of_windows_with_unlike_numbers_of_clients_are_not_compared(
    folders: tuple[CampaignFolder, CampaignFolder],
) -> None:
    a, b = (Evidence.load(folder) for folder in folders)
    fewer = replace(b, rows=tuple(replace(row, window_clients=4) for row in b.rows))
    columns = {one.column for one in compare(a, fewer).lines if one.workload == "saturation"}
    assert columns == {"client CPU, µs/pair", "client CPU, share", "pairs/s"}


def test_workloads_of_one_name_and_unlike_clients_are_not_compared(tmp_path: Path) -> None:
    made = []
    for name, clients in (("few", 4), ("many", 64)):
        plans = campaigns.plans(("redis",), ("uncontended", "contended"), 3, campaign_id=name)
        plans = tuple(
            plan.model_copy(update={"workload": plan.workload.model_copy(update={"clients": clients})})
            if plan.workload.name == "contended"
            else plan
            for plan in plans
        )
        folder = campaigns.start(tmp_path, plans)
        for plan in plans:
            campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES[plan.system]))
        made.append(Evidence.load(folder))
    found = compare(*made)
    assert {one.workload for one in found.lines} == {"uncontended"}
    assert found.only_a == ("redis contended (clients 4)",)
    assert found.only_b == ("redis contended (clients 64)",)


def test_one_run_has_no_interval_that_another_could_lie_in(tmp_path: Path) -> None:
    a, b = (Evidence.load(campaign(tmp_path, name, runs=1)) for name in ("a", "b"))
    found = compare(a, b)
    assert line(found, "redis", "p50, ms").lies_within is None
    assert line(found, "redis", "round trips").lies_within is True


def test_cells_of_one_side_only_are_named(folders: tuple[CampaignFolder, CampaignFolder]) -> None:
    a, b = (Evidence.load(folder) for folder in folders)
    found = compare(a, replace(b, rows=tuple(row for row in b.rows if row.system == "redis")))
    assert sorted(found.only_a) == [f"{system} {workload}" for system in SYSTEMS[1:] for workload in sorted(WORKLOADS)]
    assert found.only_b == ()


# -- several campaigns -----------------------------------------------------------------------------------------------


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Three campaigns beside each other; the host was 10 % slower from one to the next, network and all."""
    for number in (1, 2, 3):
        slower = 1.1 ** (number - 1)
        campaign(tmp_path / "load", f"day-{number}", slower, 2, loopback_rtt_us_p50=31.0 * slower)
    return tmp_path


def test_three_campaigns_are_one_body_of_evidence(several: Path) -> None:
    folder = find_campaign(str(several))
    assert [one.path.name for one in members(folder)] == ["day-1", "day-2", "day-3"]
    evidence = Evidence.load(folder)
    assert evidence.campaign.campaign_id == "day-1, day-2, day-3"
    (cell,) = evidence.cells_for("redis", "uncontended")
    value = cell.value("acquire_us_p50")
    assert isinstance(value, Estimate)
    assert (value.method, value.runs) == (Method.T_LOG_OF_CAMPAIGNS, 6)
    ids = [row.run_id for row in evidence.rows]
    assert len(set(ids)) == len(ids) == 36
    assert "day-2/redis-uncontended-01" in cell.evidence


def test_each_campaign_is_held_against_its_own_floor(several: Path) -> None:
    """What the days have in common, the ratio to the floor, varies less than the latencies do."""
    evidence = Evidence.load(find_campaign(str(several)))
    (cell,) = evidence.cells_for("redis", "uncontended")
    latency = cell.value("acquire_us_p50")
    times = over_floor(cell, evidence.environment, evidence.environments)
    assert not isinstance(latency, Absent)
    assert not isinstance(times, Absent)
    assert times.high / times.low < latency.high / latency.low / 1.2


def test_the_reference_may_be_several_campaigns(several: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "data").mkdir(parents=True)
    with pytest.raises(StoreError, match="or several into load/"):
        reference_campaign(root)
    shutil.copytree(several / "load", root / "data" / "reference" / "load", symlinks=True)
    assert len(members(reference_campaign(root))) == 3


def test_campaigns_of_unlike_code_or_of_one_name_are_no_body_of_evidence(several: Path) -> None:
    path = several / "load" / "day-2" / "campaign.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "git_commit": "fedcba"}), encoding="utf-8")
    with pytest.raises(StoreError, match=r"different code \(day-1 0123456789ab, day-2 fedcba"):
        Evidence.load(find_campaign(str(several)))
    path.write_text(json.dumps({**record, "campaign_id": "day-1"}), encoding="utf-8")
    with pytest.raises(StoreError, match="one campaign twice"):
        Evidence.load(find_campaign(str(several)))


def test_a_system_that_lacks_a_campaign_has_no_share_and_spoils_no_other(several: Path) -> None:
    """The first campaign of one system is none to set beside the first of another when those are two campaigns."""
    whole = Evidence.load(find_campaign(str(several)))
    rows = [row for row in whole.rows if row.system == "redis" and row.workload.name == "uncontended"]
    systems = ("redis", "redis-aof", "etcd", "zookeeper", "postgres-row", "dynamodb")
    rows = [replace(row, system=name, run_id=f"{name}-{row.run_id}") for name in systems for row in rows]
    days = sorted({row.campaign_id for row in rows})
    gone = dict(zip(systems, days, strict=False))

    def with_shares(evidence: Evidence) -> set[str]:
        return {line.system for line in compare(evidence, evidence).lines if line.column == "client CPU, share"}

    assert with_shares(replace(whole, rows=tuple(rows))) == set(systems)
    left = tuple(row for row in rows if gone.get(row.system) != row.campaign_id)
    assert with_shares(replace(whole, rows=left)) == set(systems[3:])


def test_strangers_have_columns_of_their_own(tmp_path: Path) -> None:
    a, b = (strangers.campaign(tmp_path / name, runs=6) for name in ("one", "two"))
    found = compare(a, b)
    labels = {cell.workload.title for cell in a.cells}
    assert len(labels) == 4
    for workload in labels:
        columns = {one.column for one in found.lines if one.workload == workload}
        assert {"strangers' p50, ms", "strangers' p99, ms", "strangers' pairs/s", "p50, ms", "pairs/s"} <= columns
    told = line(found, "redis", "strangers' p50, ms", "a pool, 40 clients")
    assert isinstance(told.a, Estimate)
    assert told.a.value == pytest.approx(strangers.ALONE_US / 1e3 * strangers.TIMES["redis", 8], rel=0.05)
    assert told.ratio is not None
    assert told.ratio.contains(1.0)


def test_cells_without_strangers_or_jobs_have_no_columns_of_theirs(compared: Campaigns) -> None:
    assert not [one.column for one in compared.lines if "stranger" in one.column or "job" in one.column]


def test_jobs_are_told_as_jobs(tmp_path: Path) -> None:
    quick, slow = (
        made_up.whole(),
        [
            replace(run, metrics={**run.metrics, "jobs_per_s": (run.metrics["jobs_per_s"] or 0.0) / 2.0})
            for run in made_up.whole()
        ],
    )
    found = compare(made_up.evidence(quick), made_up.evidence(slow))
    assert {one.column for one in found.lines} == {
        "client CPU, µs/pair", "job p50, ms", "job p99, ms", "jobs/s", "retries/job",
    }  # fmt: skip
    rates = [one for one in found.lines if one.column == "jobs/s"]
    assert rates
    for one in rates:
        assert one.ratio is not None
        assert one.ratio.value == pytest.approx(0.5)
        assert one.lies_within is False
    retries = [one for one in found.lines if one.column == "retries/job"]
    assert {one.ratio for one in retries} == {None}, "0 has no ratio"
    assert {one.lies_within for one in retries} == {True}


def test_retries_of_one_run_have_no_interval() -> None:
    single = made_up.evidence([made_up.row("version", 4, 100.0)])
    (retries,) = (one for one in compare(single, single).lines if one.column == "retries/job")
    assert retries.lies_within is None


def test_a_bound_of_jobs_or_strangers_is_not_compared(tmp_path: Path) -> None:
    bound = made_up.evidence([made_up.row("for-update", 4, 100.0, n, bounds=("generator",)) for n in (1, 2)])
    (rate,) = (one for one in compare(bound, bound).lines if one.column == "jobs/s")
    assert (rate.bound, rate.ratio, rate.lies_within) == (("generator",), None, None)
    beside = strangers.campaign(tmp_path)
    rows = tuple(replace(row, bounds=("generator",)) for row in beside.rows)
    found = [one for one in compare(beside, replace(beside, rows=rows)).lines if one.column == "strangers' p99, ms"]
    assert {one.bound for one in found} == {("generator",)}
