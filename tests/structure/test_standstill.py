"""A test that failed while the machine stood still is run once more, and no other."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.analysis.places import project_root
from tests.standstill import Standstills

# The test itself stops the watching process, which then sees what a machine that stands still would show it.
MADE = """
import os, signal, time
from pathlib import Path
import psutil

def test_that_fails_once(request):
    before = Path(__file__).with_suffix(".before")
    if not before.exists():
        before.touch()
        if {stands_still}:
            (watch,) = [one for one in psutil.Process().children() if "-S" in one.cmdline()]
            watch.suspend(); time.sleep(1.0); watch.resume()
        raise AssertionError("the first time")
"""


def test_a_stretch_is_found_by_when_it_ended() -> None:
    standstills = Standstills(limit_s=0.3)
    try:
        began_s = time.monotonic()
        time.sleep(0.3)  # pace: the watching process is about to start
        os.kill(standstills._process.pid, signal.SIGSTOP)
        time.sleep(0.6)  # pace: how long the machine seems to stand still
        os.kill(standstills._process.pid, signal.SIGCONT)
        deadline = time.monotonic() + 10
        while not standstills.longest_since(began_s):
            assert time.monotonic() < deadline
        assert 0.3 < standstills.longest_since(began_s) < 10
        assert standstills.longest_since(time.monotonic()) == 0.0
    finally:
        standstills.close()


@pytest.mark.parametrize("stands_still", [True, False])
def test_only_what_a_standstill_explains_is_repeated(tmp_path: Path, stands_still: bool) -> None:
    (tmp_path / "test_made.py").write_text(MADE.format(stands_still=stands_still))
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q", "test_made.py"]
    surroundings = {**os.environ, "PYTHONPATH": str(project_root()), "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=60)
    assert ended.returncode == (0 if stands_still else 1), ended.stdout
    assert ("run once more: the machine stood still for" in ended.stdout) == stands_still
