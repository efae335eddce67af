"""A machine that stands still fails tests that have deadlines: a virtual one may be stopped for seconds at a time.

A process of its own notices: it sleeps for 50 ms again and again, and writes down when that took much longer. A test
that failed while it did is run once more, and the summary says so. A failure on a machine that went on stays a failure.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

STOOD_STILL_S = 0.7
_WATCH = """
import os, sys, time
limit, parent = float(sys.argv[1]), os.getppid()
with open(sys.argv[2], "a", buffering=1) as found:
    before = time.monotonic()
    while os.getppid() == parent:
        time.sleep(0.05)
        now = time.monotonic()
        if now - before > limit:
            print(before, now, file=found)
        before = now
"""


class Standstills:
    """The stretches of this session in which the machine stood still, on the monotonic clock."""

    def __init__(self, limit_s: float = STOOD_STILL_S) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="standstills-")
        self._found = Path(self._folder.name) / "found"
        self._found.touch()
        self._process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _WATCH, str(limit_s), str(self._found)])

    def longest_since(self, instant_s: float) -> float:
        """The longest stretch that ended after an instant, in seconds; 0 where there was none."""
        time.sleep(0.5)  # pace: what has just ended is about to be written down, on a busy machine too
        lines = [tuple(map(float, line.split())) for line in self._found.read_text().splitlines()]
        return max((end - begin for begin, end in lines if end > instant_s), default=0.0)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()
