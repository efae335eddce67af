"""Plain `locust` in the repository's root, as Locust's users know it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.servers.ports import free_ports

ROOT = Path(__file__).parents[2]
_SLOW = '{"fault": "latency", "latency": "constant:20000"}'
CLASSES = (
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
    assert tuple(line.strip() for line in listed.stdout.splitlines()[1:]) == CLASSES


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
    done = locust("--headless", "-u", "3", "-r", "3", "--system", "memory", name, LOCKBENCH_HOME=str(tmp_path))
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if "the test was stopped" in line]
    assert len(told) == 1, done.stderr
    assert f"lockbench up {system}" in told[0]


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
    from bench.load.recorder import Recorder
    from bench.load.result import read_result
    from bench.load.rows import ROW_BYTES, as_rows

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
    parts = [(tmp_path / name).read_bytes() for name in sorted(result["rows"])]
    assert len(parts) == 2
    assert all(parts), "each worker took part"
    together = Recorder(keep_rows=True)
    for row in as_rows(b"".join(parts)).tolist():
        together.record(*row)
    expected = together.take().to_message()
    lag = result["histograms"].pop("loop_lag/all")
    assert result["histograms"] == expected["histograms"], "merged reports are the sum of the parts, bucket by bucket"
    assert result["counts"] == {**expected["counts"], "loop_lag/all": sum(lag.values())}
    operations = sum(len(part) for part in parts) // ROW_BYTES
    assert result["locust_requests"] == operations
    assert (result["unsent"] == 0) == sent_all
    if "rate" in options:
        assert result["arrivals"] == operations + result["unsent"], "every arrival of the schedule is accounted for"
    if "saturation" in options:
        assert [step["clients"] for step in result["ladder"]] == [1, 2, 4, 5]
        assert all(sum(step["acquire"].values()) == step["pairs"] > 0 for step in result["ladder"])
