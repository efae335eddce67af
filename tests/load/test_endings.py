"""However a run ends, one clear reason is given and no load process is left."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest

from bench.load.runner import LoadFailed, run_load
from bench.records.store import RunFolder
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import NotRunning, Supervisor
from tests.load.runs import carry_out, own_redis, plan_of, run

_OF_THE_MACHINE = {"generator_cpu", "loop_lag", "machine_cpu", "steady_state"}
_IN_FULL_SWING = b"the warm-up begins"


def load_processes(folder: Path) -> list[psutil.Process]:
    """Locust processes that record into this folder. Nothing else is looked at."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        command = process.info["cmdline"] or []
        if "locust" in command and any(str(folder) in part for part in command):
            found.append(process)
    return found


def until(what: Callable[[], bool], within_s: float = 20.0) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def attached(endpoint: Endpoint) -> Supervisor:
    """A supervisor to whom these servers are up."""
    return cast(
        Supervisor, SimpleNamespace(running=lambda _: SimpleNamespace(source="native", endpoint=endpoint, pids={}))
    )


def swinging(folder: Path) -> bool:
    log = folder / "log.txt"
    return log.exists() and _IN_FULL_SWING in log.read_bytes()


def test_servers_that_are_not_up_are_named_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(NotRunning, match="lockbench up redis"):
        run(tmp_path, "redis")


def test_a_server_that_is_not_there_is_told_before_the_load_starts(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="did not tell who it is before the run"):
        run_load(plan_of("redis"), RunFolder(tmp_path), attached(Endpoint((("127.0.0.1", 1),))))
    assert not load_processes(tmp_path)


@pytest.mark.servers
def test_a_server_killed_in_the_middle_ends_the_run_early(tmp_path: Path) -> None:
    with own_redis(tmp_path) as (endpoint, server):
        killer = threading.Thread(target=lambda: (until(lambda: swinging(tmp_path)), server.kill()))
        killer.start()
        began = time.monotonic()
        with pytest.raises(
            LoadFailed, match=r"Redis stopped answering at \d\d:\d\d:\d\d: \d+ operations failed in a row"
        ):
            run_load(plan_of("redis", measure_s=60.0, clients=2), RunFolder(tmp_path), attached(endpoint))
        killer.join()
    assert time.monotonic() - began < 30, "the run went on without a server"
    assert not load_processes(tmp_path)
    assert not (tmp_path / "events.parquet").exists()


@pytest.mark.servers
def test_a_run_on_redis_is_clean_in_two_processes(tmp_path: Path) -> None:
    with own_redis(tmp_path) as (endpoint, _):
        plan = plan_of("redis", name="contended", clients=4, keys=1, hold_ms=1.0, wait="poll-5ms-j20", processes=2)
        ran = carry_out(plan, tmp_path, attached(endpoint))
    broken = {name: check.observed for name, check in ran.checks.items() if not check.passed}
    assert not broken.keys() - _OF_THE_MACHINE, broken  # other tests are at work beside
    assert ran.measured.facts_before.version.startswith(("6.", "7.", "8."))
    assert ran.measured.source == "native"


def test_an_adapter_that_raises_ends_the_run_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="the adapter of faulty raised TypeError: planted: a contended acquire raises"):
        run(tmp_path, "faulty", {"fault": "contender-dies"}, name="contended", clients=3, keys=1, hold_ms=5.0)


def test_a_variant_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match="faulty has no fault 'dobule-grant'"):
        run(tmp_path, "faulty", {"fault": "dobule-grant"})


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(LoadFailed, match=r"cannot write into .*gone: No such file or directory\. Free space there"):
        run_load(plan_of("null"), RunFolder(tmp_path / "gone"), Supervisor(tmp_path / "home"))


def test_what_another_test_exported_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locust.conf").write_text("users = 50\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOCUST_RUN_TIME", "1ms")
    monkeypatch.setenv("LOCUST_LOCK_HOLD_MS", "400")
    ran = run(tmp_path, "null")
    assert ran.measured.counts["acquire/acquired"] > 100
    assert ran.measured.locust_requests == ran.measured.counts["acquire/acquired"]


_CARRY_OUT = """
import sys
from pathlib import Path
from tests.load.runs import run
run(Path(sys.argv[1]), "memory", clients=2, measure_s=60.0, processes=int(sys.argv[2]))
"""


def in_a_process_of_its_own(folder: Path, processes: int) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-c", _CARRY_OUT, str(folder), str(processes)]
    started = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: swinging(folder))
    assert len(load_processes(folder)) == (1 if processes == 1 else 1 + processes)
    return started


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_load_process_outlives_its_parent(tmp_path: Path, processes: int, number: signal.Signals) -> None:
    parent = in_a_process_of_its_own(tmp_path, processes)
    os.kill(parent.pid, number)
    parent.wait(30)
    until(lambda: not load_processes(tmp_path))


def test_a_lost_worker_ends_the_run(tmp_path: Path) -> None:
    outcome: list[Any] = []

    def carry_out() -> None:
        with pytest.raises(LoadFailed) as told:
            run(tmp_path, "memory", clients=2, measure_s=60.0, processes=2)
        outcome.append(str(told.value))

    runner = threading.Thread(target=carry_out)
    runner.start()
    until(lambda: swinging(tmp_path))
    (master,) = [one for one in load_processes(tmp_path) if one.ppid() == os.getpid()]
    master.children()[0].kill()
    runner.join(60)
    assert outcome == ["a load worker was lost in the middle of the test; its operations cannot be counted"]
    assert not load_processes(tmp_path)
