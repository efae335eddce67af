"""What a process may use of a machine, read from its affinity and from made-up trees of cgroups."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bench.records.processors import (
    NO_LIMIT,
    NOT_KNOWN,
    Limit,
    memory_limit_bytes,
    processor_limit,
    usable_processors,
)

V2 = {"proc/self/cgroup": "0::/a.slice/b.scope\n", "sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory\n"}
V2_ROOT = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory\n"}
V2_CONTAINER = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.controllers": "cpuset memory\n"}
V1 = {"proc/self/cgroup": "9:pids:/\n4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n0::/\n"}
_B, _A, _TOP = "sys/fs/cgroup/a.slice/b.scope", "sys/fs/cgroup/a.slice", "sys/fs/cgroup"
_JOINED, _ALONE = "sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"


def cfs(folder: str, quota: str, period: str = "100000") -> Mapping[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


TREES: list[tuple[str, Mapping[str, str], Limit]] = [
    ("nothing at all", {}, NOT_KNOWN),
    ("a cgroup that is not mounted", {"proc/self/cgroup": "0::/a\n"}, NOT_KNOWN),
    ("version 2, limited", V2 | {f"{_B}/cpu.max": "50000 100000\n"}, 0.5),
    ("version 2, another period", V2 | {f"{_B}/cpu.max": "30000 20000\n"}, 1.5),
    ("version 2, unlimited", V2 | {f"{_B}/cpu.max": "max 100000\n", f"{_A}/cpu.max": "max 100000\n"}, NO_LIMIT),
    ("version 2, limited above", V2 | {f"{_B}/cpu.max": "max 100000\n", f"{_A}/cpu.max": "100000 100000\n"}, 1.0),
    ("version 2, limited twice", V2 | {f"{_B}/cpu.max": "300000 100000\n", f"{_A}/cpu.max": "200000 100000\n"}, 2.0),
    ("version 2, the machine's root", V2_ROOT, NO_LIMIT),
    ("version 2, a container", V2_ROOT | {f"{_TOP}/cpu.max": "150000 100000\n"}, 1.5),
    ("version 2, a container without the controller", V2_CONTAINER, NOT_KNOWN),
    ("version 2, the host's path in a container", V2 | {f"{_TOP}/cpu.max": "250000 100000\n"}, 2.5),
    ("version 2, nonsense", V2_CONTAINER | {f"{_TOP}/cpu.max": "fast\n"}, NOT_KNOWN),
    ("version 2, an empty file", V2_CONTAINER | {f"{_TOP}/cpu.max": ""}, NOT_KNOWN),
    ("version 2, no period", V2_CONTAINER | {f"{_TOP}/cpu.max": "1000 0\n"}, NOT_KNOWN),
    ("version 1, limited", V1 | cfs(f"{_JOINED}/docker/x", "75000"), 0.75),
    ("version 1, unlimited", V1 | cfs(f"{_JOINED}/docker/x", "-1") | cfs(_JOINED, "-1"), NO_LIMIT),
    ("version 1, limited above", V1 | cfs(f"{_JOINED}/docker/x", "-1") | cfs(f"{_JOINED}/docker", "200000"), 2.0),
    ("version 1, the host's path in a container", V1 | cfs(_JOINED, "120000"), 1.2),
    ("version 1, mounted alone", V1 | cfs(f"{_ALONE}/docker/x", "60000", "50000"), 1.2),
    ("version 1, no period", V1 | {f"{_ALONE}/docker/x/cpu.cfs_quota_us": "60000\n"}, NOT_KNOWN),
]


@pytest.mark.parametrize(
    ("tree", "expected"), [(tree, limit) for _, tree, limit in TREES], ids=[row[0] for row in TREES]
)
def test_the_limit_is_the_smallest_on_the_way_up(tmp_path: Path, tree: Mapping[str, str], expected: Limit) -> None:
    grow(tmp_path, tree)
    assert processor_limit(tmp_path) == expected


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({}, NOT_KNOWN),
        (V2 | {f"{_B}/memory.max": "max\n", f"{_A}/memory.max": "1073741824\n"}, float(2**30)),
        (V2 | {f"{_B}/memory.max": "max\n"}, NO_LIMIT),
        (V1 | {"sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "536870912\n"}, float(2**29)),
        (V1 | {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, NO_LIMIT),
    ],
)
def test_memory_is_limited_in_the_same_way(tmp_path: Path, tree: Mapping[str, str], expected: Limit) -> None:
    grow(tmp_path, tree)
    assert memory_limit_bytes(tmp_path) == expected


@pytest.fixture
def one_processor() -> Iterator[None]:
    """As `taskset` would."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_only_processors_that_we_may_run_on_are_counted(one_processor: None) -> None:
    assert usable_processors() == 1


def grow(root: Path, tree: Mapping[str, str]) -> None:
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
