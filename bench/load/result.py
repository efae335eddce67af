"""The files by which Locust's process tells the process that started it how the test went."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.records.store import write_atomically

_RESULT = "result.json"
_FAILURE = "failure.json"
_JOBS = "jobs-{}.json"


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """The window is over and everything was counted. Raises StoreError."""
    write_atomically(folder / _RESULT, json.dumps(result))


def write_failure(folder: Path, reason: str) -> None:
    """There is no result; `reason` is for people. Raises StoreError."""
    write_atomically(folder / _FAILURE, json.dumps({"reason": reason}))


def read_failure(folder: Path) -> str | None:
    """Why there is no result, if the load process could say so."""
    path = folder / _FAILURE
    return str(json.loads(path.read_text(encoding="utf-8"))["reason"]) if path.exists() else None


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result; None where the load process ended without one."""
    path = folder / _RESULT
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def write_jobs(folder: Path, process: int, counted: Mapping[str, Any]) -> None:
    """What the clients of one load process did, after the last of them has ended. Raises StoreError."""
    write_atomically(folder / _JOBS.format(process), json.dumps(counted))


def read_jobs(folder: Path, processes: int) -> list[dict[str, Any]]:
    """The same of every load process. Raises OSError where one is missing."""
    paths = [folder / _JOBS.format(process) for process in range(processes)]
    return [dict(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
