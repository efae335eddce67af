"""Plain `locust` in the repository's root, as Locust's users know it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.servers.running.ports import free_ports
from bench.systems.registry import SYSTEMS

ROOT = Path(__file__).parents[2]
_STRANGERS = ("--workload", "contended", "--strangers", "2")
_POOL = ("--workload", "contended", "--pool", "3")
_SLOW = '{"fault": "latency", "latency": "constant:20000"}'
CLASSES = (  # of the headline systems; those of all others stand beside them
    "DynamoDBLockUser",
    "EtcdLockUser",
    "PostgresRowLockUser",
    "RedisLockUser",
    "RedlockLockUser",
    "SelectedLockUser",
    "ZooKeeperLockUser",
)


def locust(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "locust", *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_there_is_one_class_for_each_system() -> None:
    listed = locust("--list")
    assert listed.returncode == 0
    names = [line.strip() for line in listed.stdout.splitlines()[1:]]
    assert set(CLASSES) <= set(names)
    assert len(set(names)) == len(names) == len(SYSTEMS) + 1, "and one that follows --system"


def test_without_a_class_the_chosen_system_is_driven() -> None:
    done = locust("--headless", "-u", "2", "-r", "2", "--system", "memory", "--warmup-s", "0", "--measure-s", "0.5")
    assert done.returncode == 0, done.stderr
    assert '{"SelectedLockUser": 2}' in done.stderr
    assert "memory   acquire" in done.stderr


def test_an_option_may_come_from_the_environment() -> None:
    done = locust("--headless", "--measure-s", "0.5", LOCUST_LOCK_SYSTEM="null", LOCUST_LOCK_WARMUP_S="0")
    assert done.returncode == 0, done.stderr
    assert "null     acquire" in done.stderr


@pytest.mark.parametrize(("name", "system"), [("RedisLockUser", "redis"), ("ZooKeeperLockUser", "zookeeper")])
def test_a_class_drives_its_own_system_and_says_how_to_start_it(tmp_path: Path, name: str, system: str) -> None:
    done = locust("--headless", "-u", "3", "-r", "3", name, LOCKBENCH_HOME=str(tmp_path))
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if "the test was stopped" in line]
    assert len(told) == 1, done.stderr
    assert f"lockbench up {system}" in told[0]


# Locust's own parser with our part, asked about many command lines in one process.
_PARSED = """
import contextlib, io, json, sys
from locust import events
from bench.load.wiring import install
from locust.argument_parser import get_parser
install(events)
parser = get_parser(default_config_files=[])
for arguments in json.load(sys.stdin):
    told = io.StringIO()
    with contextlib.suppress(SystemExit), contextlib.redirect_stderr(told):
        parser.parse_args(arguments)
    print(json.dumps(told.getvalue()))
"""
BAD_NUMBERS = [
    (("-u", "1000000000"), "argument -u/--users: 1000000000 is outside 1..64000"),
    (("-u", "0"), "argument -u/--users: 0 is outside 1..64000"),
    (("-u=-3",), "argument -u/--users: -3 is outside 1..64000"),
    (("-u", "１２"), "argument -u/--users: '１２' is not a whole number"),
    (("-u", "1_000"), "argument -u/--users: '1_000' is not a whole number"),
    (("-u", ""), "argument -u/--users: '' is not a whole number"),
    (("-u", "True"), "argument -u/--users: 'True' is not a whole number"),
    (("-u", "1e9"), "argument -u/--users: '1e9' is not a whole number"),
    (("-u", "9" * 9_000), "argument -u/--users: '9999"),
    (("-r", "nan"), "argument -r/--spawn-rate: nan is outside 0.01..10000"),
    (("-r", "inf"), "argument -r/--spawn-rate: inf is outside 0.01..10000"),
    (("-r", "1e9"), "argument -r/--spawn-rate: 1e9 is outside 0.01..10000"),
    (("-r", "0"), "argument -r/--spawn-rate: 0 is outside 0.01..10000"),
    (("-r", "１２"), "argument -r/--spawn-rate: '１２' is not a number"),
    (("-t", "0"), "argument -t/--run-time: 0 is outside 1s..24h"),
    (("-t", "１２"), "argument -t/--run-time: '１２' is not a length of time"),
    (("-t", "25h"), "argument -t/--run-time: 25h is outside 1s..24h"),
    (("--processes", "1000000"), "argument --processes: 1000000 is outside -1..64"),
    (("--expect-workers", "0"), "argument --expect-workers: 0 is outside 1..64"),
    (("--web-port", "0"), "argument --web-port/-P: 0 is outside 1..65535"),
    (("--master-port", "-1"), "argument --master-port: -1 is outside 1..65535"),
    (("--master-bind-port", "70000"), "argument --master-bind-port: 70000 is outside 1..65535"),
    *(
        ((f"--{name}", "１２"), f"argument --{name}: '１２' is not a")
        for name in ("keys", "ttl-ms", "hold-ms", "timeout-ms", "rate-per-s", "zipf-exponent", "lock-seed", "warmup-s")
    ),
    (("--measure-s", "1_0"), "argument --measure-s: '1_0' is not a number"),
    (("--step-s", "long"), "argument --step-s: 'long' is not a number"),
]


@pytest.fixture(scope="module")
def told() -> list[str]:
    """What the parser says of each of BAD_NUMBERS."""
    asked = json.dumps([arguments for arguments, _ in BAD_NUMBERS])
    done = subprocess.run(
        [sys.executable, "-c", _PARSED], input=asked, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("case", range(len(BAD_NUMBERS)))
def test_a_number_out_of_bounds_is_refused_by_the_command_line(told: list[str], case: int) -> None:
    assert BAD_NUMBERS[case][1] in told[case]
    assert len(told[case].splitlines()) == 1
    assert len(told[case]) < 200


@pytest.mark.parametrize(
    ("arguments", "exit_code", "message"),
    [
        (("--system", "memory", "-u", "1001"), 2, "--users: 1001 is outside 1..1000"),
        (("--system", "memory", "--processes", "2", "-u", "2001"), 2, "--users: 2001 is outside 1..2000"),
        (("--system", "memory", "-H", "https://staging.example"), 2, "--host: not used here"),
        (("--system", "memory", "RedisLockUser"), 1, "--system: RedisLockUser drives redis, not memory"),
        (("--system", "etcd", "--ttl-ms", "999"), 1, "--ttl-ms: etcd keeps no lease shorter than 1000 ms, not 999"),
        (
            ("--system", "memory", "-u", "2", *_STRANGERS),
            1,
            "--strangers: 2 of 2 clients leave none to meet at the key",
        ),
        (("--system", "memory", "-u", "2", *_POOL), 1, "--pool: 3 connections are more than the clients"),
    ],
)
def test_a_choice_that_cannot_be_obeyed_is_refused(arguments: tuple[str, ...], exit_code: int, message: str) -> None:
    done = locust("--headless", *arguments)
    assert done.returncode == exit_code
    assert len([line for line in done.stderr.splitlines() if message in line]) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_two_classes_are_told_to_measure_each_other() -> None:
    done = locust("--headless", "-t", "1s", "RedisLockUser", "EtcdLockUser", LOCKBENCH_HOME="none")
    assert "run side by side and share this generator" in done.stderr


def test_a_bad_value_ends_in_one_message() -> None:
    done = locust("--headless", "--system", "memory", "--hold-ms", "-1", "--ttl-ms", "0")
    told = [line for line in done.stderr.splitlines() if "the test was stopped" in line]
    assert done.returncode == 1
    assert len(told) == 1
    assert "--hold-ms: -1.0 is outside" in told[0]
    assert "--ttl-ms: 0 is outside" in told[0]
    assert "Traceback" not in done.stderr


def test_an_unknown_system_is_refused_by_the_command_line() -> None:
    done = locust("--headless", "--system", "redsi")
    assert done.returncode == 2
    assert "invalid choice: 'redsi'" in done.stderr


@pytest.mark.measures
@pytest.mark.parametrize(
    ("system", "options", "sent_all"),
    [
        ("null", ("--workload", "uncontended"), True),
        ("memory", ("--workload", "rate", "--rate-per-s", "300", "--timeout-ms", "500"), True),
        ("faulty", ("--workload", "rate", "--rate-per-s", "900", "--client-variant", _SLOW), False),
        ("faulty", ("--workload", "saturation", "--step-s", "0.2", "--client-variant", _SLOW), True),
    ],
)
def test_a_master_and_two_workers_add_up(tmp_path: Path, system: str, options: tuple[str, ...], sent_all: bool) -> None:
    """Started by hand, each with its own command line; only the master is told the options."""
    from bench.load.phases import phases_of
    from bench.load.result import read_result
    from bench.load.rows import read_rows
    from bench.load.steps import acquires_by_step

    (port,) = free_ports(1)
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "locust", "--worker", "--master-port", str(port)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    try:
        done = locust(
            *("--master", "--headless", "--expect-workers", "2", "--expect-workers-max-wait", "60"),
            *("--master-bind-host", "127.0.0.1", "--master-bind-port", str(port), "-u", "5", "-r", "5"),
            *("--system", system, *options, "--warmup-s", "0.2", "--measure-s", "1", "--record-into", str(tmp_path)),
        )
        assert done.returncode == 0, done.stderr
        for worker in workers:
            worker.wait(20)
    finally:
        for worker in workers:
            worker.kill()
    result = read_result(tmp_path)
    assert result is not None
    parts = [read_rows([tmp_path / name]) for name in sorted(result["rows"])]
    assert [len(part) > 0 for part in parts] == [True, True], "each worker took part"
    together = {name: one.total for name, one in phases_of(np.concatenate(parts)).items()}
    assert result["counts"] == together, "what the workers counted is what their rows hold"
    assert sum(result["lag"].values()) > 0
    operations = sum(map(len, parts))
    assert result["locust_requests"] == operations + result["climb_requests"]
    assert (result["unsent"] == 0) == sent_all
    if "rate" in options:
        assert result["arrivals"] == operations + result["unsent"], "every arrival of the schedule is accounted for"
    if "saturation" in options:
        assert [step["clients"] for step in result["ladder"]] == [1, 2, 4, 5]
        climbs = [(read_rows([tmp_path / name]), began_ns) for name, began_ns in result["climbs"]]
        acquired = acquires_by_step(climbs, 200_000_000, 4)
        assert [one.total for one in acquired] == [step["pairs"] for step in result["ladder"]]
        assert all(step["pairs"] > 0 for step in result["ladder"])
