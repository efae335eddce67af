"""The machine that a campaign ran on, measured rather than looked up where that is possible."""

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from bench.records.processors import memory_limit_bytes, processor_limit, usable_processors
from bench.records.round_trip import echoing, on, round_trips_us
from bench.records.schema import Environment

LIBRARIES = (
    "locust",
    "gevent",
    "redis",
    "hiredis",
    "kazoo",
    "etcd3",
    "grpcio",
    "protobuf",
    "psycopg",
    "boto3",
    "hdrhistogram",
    "numpy",
    "pandas",
    "matplotlib",
)
_FDATASYNC_CALLS = 400  # a 99th percentile needs 368
_RTT_BURSTS = 8
_RTT_ROUNDS = 500


def capture_environment(servers_folder: Path, packages: Iterable[str] = ()) -> Environment:
    """Read and measure this machine. `servers_folder` is where the servers keep their files: its disk is the one that
    their durable writes wait for. `packages` are those that measured systems come from. Takes about a second.
    """
    servers_folder.mkdir(parents=True, exist_ok=True)
    sync_us = sorted(_fdatasync_us(servers_folder))
    bursts_us = _loopback_bursts_us()
    return Environment(
        cpu_model=cpu_model(),
        cpu_count=usable_processors(),
        cpu_limit=processor_limit(),
        memory_bytes=_memory_bytes(),
        kernel=platform.release(),
        governor=_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        operating_system=_operating_system(),
        virtualization=_virtualization(),
        filesystem=_filesystem(servers_folder),
        fdatasync_us_p50=round(statistics.median(sync_us), 1),
        fdatasync_us_p99=round(sync_us[-1 - len(sync_us) // 100], 1),
        fdatasync_calls=len(sync_us),
        loopback_rtt_us_p50=min(bursts_us),
        loopback_rtt_us_bursts=bursts_us,
        python=platform.python_version(),
        libraries={name: _version(name) for name in dict.fromkeys([*LIBRARIES, *packages])},
        load_average_1m=round(os.getloadavg()[0], 2),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _memory_bytes() -> int:
    limit, there = memory_limit_bytes(), psutil.virtual_memory().total
    return min(int(limit), there) if isinstance(limit, float) else there


def _fdatasync_us(folder: Path) -> Sequence[float]:
    """Append 512 bytes and fdatasync, as a write-ahead log does; the time of each call in microseconds."""
    samples = []
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".fdatasync-") as file:
        block = b"\0" * 512
        for _ in range(_FDATASYNC_CALLS):
            os.write(file.fileno(), block)
            started = time.perf_counter_ns()
            os.fdatasync(file.fileno())
            samples.append((time.perf_counter_ns() - started) / 1_000)
    return samples


def _loopback_bursts_us() -> tuple[float, ...]:
    """One byte there and back over TCP on 127.0.0.1 between two threads, in microseconds: the median of each burst.

    The scheduler may put the two threads on one processor or on two, which on a virtual machine is the difference
    between 5 µs and 17 µs. A floor is what nothing can be quicker than: half of the bursts are kept on one processor,
    and the quickest burst speaks. All are recorded, so that whoever uses it can say how far they lie apart.
    """
    bursts = (_burst_us(on_one_processor=bool(number % 2)) for number in range(_RTT_BURSTS))
    return tuple(round(statistics.median(burst), 1) for burst in bursts)


def _burst_us(on_one_processor: bool) -> Sequence[float]:
    allowed = os.sched_getaffinity(0)
    processors = {min(allowed)} if on_one_processor else allowed
    with echoing(processors) as address, on(processors):
        return round_trips_us(address, _RTT_ROUNDS, _RTT_ROUNDS)


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()[0].strip()
    except (OSError, IndexError):
        return "unknown"


def cpu_model() -> str:
    """As the kernel names it."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith(("model name", "Model")):
            return line.partition(":")[2].strip()
    return platform.machine()


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _virtualization() -> str:
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if Path("/.dockerenv").exists():
        return "container"
    return "virtual machine" if "hypervisor" in cpuinfo else "none seen"


def _filesystem(folder: Path) -> str:
    """Type of the filesystem that holds `folder`: the mount point with the longest matching path."""
    mounts = [part for part in psutil.disk_partitions(all=True) if folder.resolve().is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else "unknown"
