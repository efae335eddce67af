"""`lockbench show`: where a number comes from, and one message with near names for what does not exist."""

import json
from pathlib import Path

import pytest

from tests import campaigns
from tests.commands.command import lockbench
from tests.report import hazard_campaigns

KEPT_BY = {"version": "15.9", "identity": "74", "durability": {"fsync": "on"}, "nodes": 1}
RECORDS = {"system": "postgres-row", "source": "native", "facts_before": KEPT_BY, "facts_after": KEPT_BY}


def made_campaign(root: Path, campaign_id: str) -> None:
    """Two systems and two workloads, three runs each; the first run is void."""
    plans = campaigns.plans(("redis", "etcd"), ("uncontended", "contended"), 3, campaign_id=campaign_id)
    folder = campaigns.start(root, plans)
    for number, plan in enumerate(plans):
        beside = {"records_servers": RECORDS} if (plan.system, plan.workload.name) == ("etcd", "contended") else {}
        record = campaigns.measured(plan, campaigns.SHAPES[plan.system], **beside)
        campaigns.add_run(folder, plan, record, campaigns.check(passed=number > 0, void=number == 0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a campaign of load lies, one of hazards, and two of load in one body of evidence."""
    root = tmp_path_factory.mktemp("show")
    made_campaign(root / "runs", "one")
    hazard_campaigns.whole(root / "runs")
    for name in ("monday", "tuesday"):
        made_campaign(root / "runs" / "several" / "load", name)
    return root


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_cell_shows_its_value_its_runs_and_why_one_is_void(folder: Path) -> None:
    ended = lockbench(folder, "show", "redis", "uncontended", "--campaign", "one")
    assert ended.returncode == 0, ended.stderr
    assert max(len(line.rstrip()) for line in ended.stdout.splitlines()) <= 100
    shown = words(ended.stdout)
    assert "Redis, uncontended: 1 client, own keys, wait try" in shown
    assert "Runs: 2 of 3 count" in shown
    for number in (1, 2, 3):
        assert f"Run redis-uncontended-0{number}" in shown
    assert "no: generator late" in shown
    assert "loop lag failed 14 ms 5 ms" in shown
    assert "acquire/acquired" in shown
    assert "Servers: 7.0.15 (native); 1 server; appendfsync: everysec" in shown
    assert shown.count("Processor: Imaginary CPU") == 1, "one machine, told once"


def test_a_run_has_its_checks_and_its_claims(folder: Path) -> None:
    shown = words(lockbench(folder, "show", "etcd-uncontended-02", "-c", "one").stdout)
    assert "State: checked" in shown
    assert "loop lag passed 14 ms 5 ms" in shown
    assert "Claims that rest on it: C04" in shown


def test_servers_that_kept_the_records_of_jobs_stand_beside_those_of_the_lock(folder: Path) -> None:
    shown = words(lockbench(folder, "show", "etcd-contended-02", "-c", "one").stdout)
    assert "Servers of the records: Postgres row: 15.9 (native); 1 server; fsync: on; identity 74" in shown
    assert "Servers of the records" not in words(lockbench(folder, "show", "etcd-uncontended-02", "-c", "one").stdout)


def test_a_hazard_run_has_its_verdicts_trials_and_faults(folder: Path) -> None:
    shown = words(lockbench(folder, "show", "gc-pause-redis-01", "-c", "one").stdout)
    assert "Played: gc-pause on Redis" in shown
    assert "Verdict: pause of the holder: " in shown
    assert "Fault: pause of holder" in shown
    assert "accepted 1; lost" in shown
    void = words(lockbench(folder, "show", "gc-pause-etcd-04", "-c", "one").stdout)
    assert "Void: failed (servers): port 1 is taken" in void


def test_what_was_played_is_shown_where_no_load_was_measured(tmp_path: Path) -> None:
    hazard_campaigns.whole(tmp_path / "runs")
    ended = lockbench(tmp_path, "show", "page-scenario-redis-01", within_s=110)
    assert ended.returncode == 0, ended.stderr
    assert str(tmp_path / "runs") in ended.stdout.replace("\n ", "")


def test_a_scenario_has_its_verdicts_and_runs(folder: Path) -> None:
    shown = words(lockbench(folder, "show", "redis", "gc-pause", "-c", "one").stdout)
    assert "Verdict: pause of the holder: " in shown
    for number in range(1, 5):
        assert f"gc-pause-redis-0{number}" in shown
    assert "no: failed (servers)" in words(lockbench(folder, "show", "etcd", "gc-pause", "-c", "one").stdout)


def test_the_same_for_a_script(folder: Path) -> None:
    (cell,) = json.loads(lockbench(folder, "show", "redis", "uncontended", "-c", "one", "--json").stdout)
    assert [run["run_id"] for run in cell["runs"]] == [f"redis-uncontended-0{number}" for number in (1, 2, 3)]
    assert cell["values"]["acquire_us_p50"]["low"] <= cell["values"]["acquire_us_p50"]["value"]
    assert cell["runs"][0]["void"].startswith("generator late: ")
    run = json.loads(lockbench(folder, "show", "etcd-contended-01", "-c", "one", "--json").stdout)
    assert run["checks"][0]["observed"] == "14 ms"
    assert run["histograms"]["acquire/acquired"]["us"]["p50"] == run["metrics"]["acquire_us_p50"]
    played = json.loads(lockbench(folder, "show", "gc-pause-redis-01", "-c", "one", "--json").stdout)
    assert played["trials"][0]["checked"]["grants"] > 0
    assert [one["id"] for one in played["verdicts"]] == ["gc-pause"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("redis-uncontendd-01",), "no run 'redis-uncontendd-01' here: there is redis-uncontended-01"),
        (("redis",), "redis is a system; name one of its workloads too: contended, uncontended"),
        (("redis", "contnded"), "no run of redis under 'contnded' here: there is contended, uncontended"),
        (("redis", "gc-puase"), "there is contended, uncontended, gc-pause"),
        (("etdc", "contended"), "no run of a system 'etdc' here: there is etcd"),
        (("gc-pause-reds-01",), "there is gc-pause-redis-01"),
    ],
)
def test_a_name_that_is_not_there_is_one_message_with_near_names(
    folder: Path, arguments: tuple[str, ...], told: str
) -> None:
    ended = lockbench(folder, "show", *arguments, "-c", "one")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert told in words(ended.stderr)
    assert "Traceback" not in ended.stderr


def test_of_several_campaigns_a_run_is_named_with_its_campaign(folder: Path) -> None:
    several = str(folder / "runs" / "several")
    ended = lockbench(folder, "show", "etcd-contended-01", "-c", several)
    assert ended.returncode == 1
    assert "choose monday/etcd-contended-01 or tuesday/etcd-contended-01" in words(ended.stderr)
    shown = words(lockbench(folder, "show", "tuesday/etcd-contended-01", "-c", several).stdout)
    assert f"Folder: {several}/load/tuesday/etcd-contended-01".replace(" ", "") in shown.replace(" ", "")
