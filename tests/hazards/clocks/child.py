"""A process that tells every clock it can read, by every call that reads one."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_TELL = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
class Timeval(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("microseconds", ctypes.c_long)]
tv, stored = Timeval(), ctypes.c_long()
for line in sys.stdin:
    if line.startswith("fork"):
        if os.fork() == 0:
            print(os.getpid(), flush=True)
            continue  # the child answers from now on, the parent waits for it
        os.wait()
        break
    libc.gettimeofday(ctypes.byref(tv), None)
    returned = libc.time(ctypes.byref(stored))
    print(
        time.clock_gettime_ns(time.CLOCK_REALTIME),
        time.clock_gettime_ns(5),
        time.clock_gettime_ns(time.CLOCK_TAI),
        tv.seconds * 10**9 + tv.microseconds * 1_000,
        stored.value * 10**9,
        returned * 10**9,
        libc.time(None) * 10**9,
        libc.gettimeofday(None, None),
        time.clock_gettime_ns(time.CLOCK_MONOTONIC),
        time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
        time.clock_gettime_ns(6),
        time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID),
        flush=True,
    )
"""
WALL = ("realtime", "realtime_coarse", "tai", "gettimeofday", "time_stored", "time_returned", "time_alone")
STEADY = ("monotonic", "monotonic_raw", "monotonic_coarse", "boottime")
# By how much a clock may lag behind the time it tells: its own grain, and that of the kernel's tick.
LAG_MS = {"gettimeofday": 0.001, "realtime_coarse": 20.0} | dict.fromkeys(WALL[4:], 1_020.0)


@dataclass
class Reading:
    """All clocks of the child, each read between two readings of the same clock here."""

    wall_ms: dict[str, tuple[float, float]]  # by name: how far ahead of ours, at least and at most
    steady_within: dict[str, bool]  # by name: did it lie between our two readings
    cpu_ns: int


class Child:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.pid = process.pid

    def say(self, word: str) -> list[int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return [int(part) for part in self.process.stdout.readline().split()]

    def read(self) -> Reading:
        before = _ours()
        told = self.say("tell")
        after = _ours()
        assert told[7] == 0
        walls = dict(zip(WALL, told[:7], strict=True))
        steady = dict(zip(STEADY, told[8:12], strict=True))
        return Reading(
            {
                name: (
                    (value - after[_reference(name)]) / 1e6,
                    (value - before[_reference(name)]) / 1e6 + LAG_MS.get(name, 0.0),
                )
                for name, value in walls.items()
            },
            {name: before[name] <= value <= after[name] for name, value in steady.items()},
            told[12],
        )


def _reference(name: str) -> str:
    return "tai" if name == "tai" else "realtime"


def _ours() -> dict[str, int]:
    return {
        "realtime": time.time_ns(),
        "tai": time.clock_gettime_ns(time.CLOCK_TAI),
        "monotonic": time.monotonic_ns(),
        "monotonic_raw": time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
        "monotonic_coarse": time.clock_gettime_ns(6),
        "boottime": time.clock_gettime_ns(time.CLOCK_BOOTTIME),
    }


@contextmanager
def telling() -> Iterator[Child]:
    process = subprocess.Popen([sys.executable, "-c", _TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child = Child(process)
        child.say("tell")  # it is there, and no more busy becoming Python
        yield child
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()
