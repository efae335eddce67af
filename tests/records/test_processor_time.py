"""Processor time between two readings: whose it was, on a made-up /proc and on this machine."""

import os
import time
from pathlib import Path

import pytest

from bench.records.processor_time import REST, read, used

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def machine(folder: Path, name: str, busy: tuple[int, int], passed: int, processes: dict[int, tuple[int, int]]) -> Path:
    """A /proc in which two processors have been busy for so many ticks; by pid the parent and the ticks of each."""
    proc = folder / name
    proc.mkdir()
    lines = [f"cpu{number} {ticks} 0 0 {passed - ticks} 0 0 0 0 0 0" for number, ticks in enumerate(busy)]
    (proc / "stat").write_text("\n".join(["cpu 1 1 1 1 1 1 1 1 1 1", *lines, "cpu2 9 9 9 9 9 9 9 9 9 9", "ctxt 1"]))
    for pid, (parent, ticks) in processes.items():
        (proc / str(pid)).mkdir()
        fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0"]
        (proc / str(pid) / "stat").write_text(f"{pid} (a name) with ) in it) {' '.join(fields)}")
    (proc / "self").mkdir()
    return proc


def test_time_goes_to_the_server_that_a_process_descends_from(tmp_path: Path) -> None:
    postgres = {10: (1, 100), 11: (10, 50), 12: (11, 5), 20: (1, 7)}
    before = machine(tmp_path, "before", (1_000, 2_000), 10_000, postgres)
    grown = {10: (1, 110), 11: (10, 80), 12: (11, 25), 20: (1, 7), 30: (1, 999)}
    after = machine(tmp_path, "after", (1_300, 2_900), 11_000, grown)
    servers = {"postgres-1": 10, "redis-1": 20}
    first, second = (read([0, 1], servers, proc) for proc in (before, after))
    length_s = (second.instant_ns - first.instant_ns) / 1e9
    use = used(first, second, 60 / _TICKS_PER_S, length_s)
    assert use.machine_share == 0.6
    assert use.share_by_processor == {"0": 0.3, "1": 0.9}
    ticks = {name: round(cpu_s * _TICKS_PER_S) for name, cpu_s in use.cpu_s_by_process.items()}
    assert ticks == {"generator": 60, "postgres-1": 60, "redis-1": 0, REST: 1_200 - 60 - 60}


def test_what_this_process_computes_is_found() -> None:
    processors = sorted(os.sched_getaffinity(0))
    before = read(processors, {"this": os.getpid()})
    until, spent = time.monotonic() + 2, time.process_time()
    while time.process_time() - spent < 0.3 and time.monotonic() < until:
        pass
    after = read(processors, {"this": os.getpid()})
    use = used(before, after, 0.0, (after.instant_ns - before.instant_ns) / 1e9)
    # The kernel charges whole ticks to whom it finds at work, which on a busy machine is off by some.
    assert use.cpu_s_by_process["this"] == pytest.approx(time.process_time() - spent, abs=0.15)
    assert 0 < use.machine_share <= 1
    assert set(use.share_by_processor) == set(map(str, processors))
