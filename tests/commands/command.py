"""Runs the real command in a process of its own, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

LOCKBENCH = (sys.executable, "-m", "bench")
BRIEFLY = ("--warm-up", "100ms", "--window", "500ms")  # of `lockbench run`, where a test is not about its numbers


def environment_of(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment, with servers and data under `folder` and no colours or wide tables."""
    own = {
        "LOCKBENCH_HOME": str(folder / "home"),
        "LOCKBENCH_DATA": str(folder / "runs"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }
    return {**os.environ, **own, **(more or {})}


def lockbench(
    folder: Path, *arguments: str, more: Mapping[str, str] | None = None, within_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run `lockbench` to its end and return what it printed."""
    return subprocess.run(
        [*LOCKBENCH, *arguments],
        cwd=folder,
        env=environment_of(folder, more),
        capture_output=True,
        text=True,
        timeout=within_s,
    )
