"""`lockbench run` with workloads of the user's own, on a real Redis: measured as asked, shown by name, gone on with."""

import csv
import json
import re
import signal
from pathlib import Path

import pytest

from bench.records.schema import RunState
from bench.records.workload import Workload
from tests.commands.command import lockbench
from tests.commands.test_bad_luck import campaign_of, running, second_run_loads, states, until

EXAMPLE = Path(__file__).parents[2] / "docs/workload.yaml"
SHORT = ("--warm-up", "200ms", "--window", "500ms", "-n", "1", "--name", "c")


def plain(text: str) -> str:
    return " ".join(text.split())


def workloads(folder: Path) -> dict[str, Workload]:
    return {run.plan.run_id: run.plan.workload for run in campaign_of(folder).runs()}


@pytest.mark.servers
def test_options_are_measured_as_asked_and_shown_by_name(tmp_path: Path) -> None:
    options = ("--clients", "2,3", "--keys", "2", "--hold", "2ms", "--ttl", "5s", "--wait", "poll-3ms")
    ended = lockbench(tmp_path, "run", "-s", "redis", "-w", "contended", *options, *SHORT, within_s=110)
    assert ended.returncode == 0, ended.stderr
    found = workloads(tmp_path)
    assert {(one.clients, one.keys, one.hold_ms, one.ttl_ms, one.wait, one.measure_s) for one in found.values()} == {
        (clients, 2, 2.0, 5_000, "poll-3ms", 0.5) for clients in (2, 3)
    }
    for run in campaign_of(tmp_path).runs():
        assert run.state is RunState.CHECKED
        assert run.measured.counts["acquire/acquired"] > 20
        assert run.plan.run_id.startswith("redis-contended-")
    assert "not measured" not in ended.stdout
    assert "Every workload" in ended.stdout
    reported = lockbench(tmp_path, "report", "--no-notebook", within_s=110)
    assert reported.returncode == 0, reported.stderr
    with (tmp_path / "runs/c/report/cells.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["workload"] for row in rows) == sorted(one.label for one in found.values())
    assert "2 keys" in (tmp_path / "runs/c/report/comparison.md").read_text()


@pytest.mark.servers
@pytest.mark.thorough
def test_the_example_file_runs(tmp_path: Path) -> None:
    ended = lockbench(tmp_path, "run", str(EXAMPLE), "-n", "1", "--name", "c", within_s=115)
    assert ended.returncode == 0, ended.stderr
    assert states(tmp_path) == [RunState.CHECKED] * 3
    assert {one.label for one in workloads(tmp_path).values()} == {
        *("checkout, 4 clients", "checkout, 16 clients", "nightly import")
    }
    for words in ("checkout, 4", "clients", "nightly"):
        assert words in plain(ended.stdout)


def test_what_was_interrupted_goes_on_and_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    text = "repetitions: 2\nsystems: memory\nmine: {workload: contended, clients: 3, window: 500ms, warm-up: 200ms}\n"
    path.write_text(text)
    with running(tmp_path, "run", str(path), "--name", "c") as process:
        until(lambda: second_run_loads(tmp_path))
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    resumed = lockbench(tmp_path, "run", "--resume", "c", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert sorted(json.loads(resumed.stdout)["runs"]) == ["memory-mine-01", "memory-mine-02"]
    added = lockbench(tmp_path, "run", "--add-to", "c", str(path), "-n", "1", "--json")
    assert added.returncode == 0, added.stderr
    assert json.loads(added.stdout)["runs"] == dict.fromkeys(
        ("memory-mine-01", "memory-mine-02", "memory-mine-03"), "checked"
    )
    ancestry = lockbench(tmp_path, "show", "memory", "mine")
    assert ancestry.returncode == 0, ancestry.stderr
    assert "In-process mutex, mine: contended, 3 clients, 1 key" in plain(ancestry.stdout)
    options = ("-s", "memory", "-w", "contended", "--clients", "2", "--window", "500ms", "-n", "1")
    optioned = lockbench(tmp_path, "run", "--add-to", "c", *options, "--json")
    assert "memory-contended-2-clients-window-500-ms-01" in json.loads(optioned.stdout)["runs"]
    path.write_text(text.replace("3", "4"))
    refused = lockbench(tmp_path, "run", "--add-to", "c", str(path))
    assert refused.returncode == 1
    assert "mine has other parameters in campaign c: give it another name" in plain(refused.stderr)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-s", "memory", "-w", "contended", "--hold", "10"], r"--hold: 10 has no unit: write 10ms, 10s or 10min"),
        (
            ["-s", "memory", "--rate", "5"],
            r"--rate: only for the workloads rate, contended-rate, not for uncontended",
        ),
        (["never.yaml"], r"never.yaml: No such file"),
        (["bad.yaml"], r"bad.yaml: line 2, a, hold: 10 has no unit.*; line 2, a, zipf: only for"),
        (
            ["good.yaml", "--hold", "1ms", "-w", "rate"],
            r"good.yaml says what the clients do: leave out --workload, --hold",
        ),
        (["good.yaml", "-s", "mongo"], r"no system 'mongo'"),
        (["--resume", "c", "--hold", "1ms"], r"leave out --hold"),
        (["--add-to", "latest", "good.yaml"], r"no campaign 'latest'"),
    ],
)
def test_a_mistake_is_one_message_and_starts_nothing(tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "good.yaml").write_text("a: {workload: contended}\n")
    (tmp_path / "bad.yaml").write_text("systems: memory\na: {workload: contended, hold: 10, zipf: 1}\n")
    ended = lockbench(tmp_path, "run", *arguments)
    assert ended.returncode == 1, ended.stderr
    assert re.search(told, plain(ended.stderr)), ended.stderr
    assert ended.stderr.count("error:") == 1
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "runs").exists()


def test_every_parameter_has_an_option_with_its_unit_in_the_help(tmp_path: Path) -> None:
    told = plain(lockbench(tmp_path, "run", "--help", more={"COLUMNS": "200"}).stdout)
    for option in ("--clients 32", "--keys 4", "--hold 1.5ms", "--ttl 10s", "--wait poll-20ms", "--timeout 5s"):
        assert f"Example: {option}" in told
    for option in ("--rate 250", "--arrivals uniform", "--zipf 1.2", "--window 60s", "--warm-up 2s", "--step 1s"):
        assert f"Example: {option}" in told
