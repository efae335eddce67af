"""What this process may use of the machine: processors by affinity, processor time and memory by cgroups, v1 and v2."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

NO_LIMIT: Final = "none"
NOT_KNOWN: Final = "not known"
Limit = float | Literal["none", "not known"]

_UNLIMITED_BYTES = 2**60  # version 1 writes "no limit" as a number near 2^63


def usable_processors() -> int:
    """How many processors this process may run on: fewer than the machine has after `taskset` or in a cpuset."""
    return len(os.sched_getaffinity(0))


def processor_limit(root: Path = Path("/")) -> Limit:
    """How many processors' worth of time all of our cgroups together allow."""
    return _least(root, "cpu", "cpu.max", _of_cpu_max, "cpu.cfs_quota_us", _of_cfs_quota)


def memory_limit_bytes(root: Path = Path("/")) -> Limit:
    """How much memory all of our cgroups together allow."""
    return _least(root, "memory", "memory.max", _of_memory, "memory.limit_in_bytes", _of_memory)


_Read = Callable[[Path], Limit]


def _least(root: Path, controller: str, file_v2: str, read_v2: _Read, file_v1: str, read_v1: _Read) -> Limit:
    """The smallest limit on the way from our cgroup up; a limit binds everything below it."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return NOT_KNOWN
    found: list[Limit] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                found += [read_v2(folder / file_v2) for folder in _upwards(root / mount, path)]
                # Only the machine's own root has the controller, and no such file to limit it by.
                if controller in _words(root / mount / "cgroup.controllers") and not (root / mount / file_v2).exists():
                    found.append(NO_LIMIT)
        elif controller in controllers.split(","):
            for mount in (f"sys/fs/cgroup/{controllers}", f"sys/fs/cgroup/{controller}"):
                found += [read_v1(folder / file_v1) for folder in _upwards(root / mount, path)]
    numbers = [limit for limit in found if isinstance(limit, float)]
    if numbers:
        return min(numbers)
    return NO_LIMIT if NO_LIMIT in found else NOT_KNOWN


def _upwards(mount: Path, path: str) -> Iterable[Path]:
    """Our cgroup and those above it. In a container the path may be the host's; then only the mount is there."""
    folder = mount / path.lstrip("/")
    return [folder, *(above for above in folder.parents if above.is_relative_to(mount))]


def _of_cpu_max(file: Path) -> Limit:
    quota, period = (*_words(file), "", "")[:2]
    return NO_LIMIT if quota == "max" else _quotient(quota, period)


def _of_cfs_quota(file: Path) -> Limit:
    quota, period = (*_words(file), "")[0], (*_words(file.with_name("cpu.cfs_period_us")), "")[0]
    return NO_LIMIT if quota.startswith("-") else _quotient(quota, period)


def _of_memory(file: Path) -> Limit:
    word = (*_words(file), "")[0]
    if word == "max" or (word.isdigit() and int(word) >= _UNLIMITED_BYTES):
        return NO_LIMIT
    return float(word) if word.isdigit() else NOT_KNOWN


def _quotient(quota: str, period: str) -> Limit:
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else NOT_KNOWN


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []
