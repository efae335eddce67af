"""Whatever becomes of a pytest, no server that its tests started outlives it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import pytest
from tests.guardian import watch

@pytest.fixture(scope="session", autouse=True)
def watched(tmp_path_factory):
    return watch(tmp_path_factory.getbasetemp())
"""
# Two tests, each with a server as the bench starts one. One writes its own title over its environment, as Redis does;
# one works where no test has a folder, as a server does whose account may not enter that.
TESTS = """
import os, time
from pathlib import Path
import pytest
from bench.servers.process import start
from bench.servers.spec import Launch

@pytest.mark.parametrize("number", [1, 2])
def test_forever(number, tmp_path, tmp_path_factory):
    if number == 1:
        folder, argv = tmp_path, ("/usr/bin/env", "-i", "/bin/sleep", "600")
    else:
        folder, argv = Path({outside!r}), ("/bin/sleep", "600")
    process = start(Launch(argv), folder / "pid", folder / "log")
    told = Path({told!r}) / str(number)
    told.with_suffix(".new").write_text(f"{{os.getpid()}} {{process.pid}}")
    told.with_suffix(".new").rename(told)
    time.sleep(600)
"""
STARTED_WITHIN_S = 60.0
ENDED_WITHIN_S = 20.0


@pytest.mark.parametrize(("workers", "number"), [("2", signal.SIGTERM), ("0", signal.SIGINT)])
def test_what_tests_started_ends_with_their_pytest(tmp_path: Path, workers: str, number: signal.Signals) -> None:
    for name in ("tests", "outside", "told", "base"):
        (tmp_path / name).mkdir()
    (tmp_path / "tests/conftest.py").write_text(CONFTEST)
    text = TESTS.format(outside=str(tmp_path / "outside"), told=str(tmp_path / "told"))
    (tmp_path / "tests/test_forever.py").write_text(text)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DEBUG_TEMPROOT": str(tmp_path / "base")}
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider", str(tmp_path / "tests")]
    count = max(1, int(workers))
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as controller:
        started = told_by(tmp_path / "told", count)
        controller.send_signal(number)
        controller.wait(ENDED_WITHIN_S)
    _, alive = psutil.wait_procs(started, timeout=ENDED_WITHIN_S)
    assert not alive


def told_by(folder: Path, count: int) -> list[psutil.Process]:
    """The workers and their servers, once every test has started its own."""
    give_up = time.monotonic() + STARTED_WITHIN_S
    while len(found := [path for path in folder.iterdir() if not path.suffix]) < count:
        assert time.monotonic() < give_up, "the tests did not start"
        time.sleep(0.02)  # pace: between two looks, bounded by the deadline
    return [psutil.Process(int(pid)) for path in found for pid in path.read_text().split()]
