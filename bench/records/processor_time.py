"""How much processor time went where between two instants: by processor and by process, read from /proc.

One reading costs a few milliseconds (every process of the machine is looked at once, to know who descends from whom),
so readings belong outside of a measured window. The kernel counts in ticks of 10 ms.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic_ns

REST = "rest of the machine"
LINES = "delay lines"  # of the network between clients and servers, where a run has one
PEER_LINES = "delay lines between servers"
GENERATOR = "generator"
_NO_SERVERS = {GENERATOR, LINES, PEER_LINES, REST}
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_IDLE, _IOWAIT, _GUEST = 3, 4, 8  # of the numbers of a processor's line in proc(5)'s stat; guest time is in user time
_PARENT, _USER, _CHILDREN_SYSTEM = 1, 11, 14  # of the fields of a process's stat, from its state on


@dataclass(frozen=True, slots=True)
class Reading:
    """What had been used up at one instant, in ticks."""

    instant_ns: int
    busy: Mapping[str, int]  # by processor, by its number
    passed: Mapping[str, int]
    by_process: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Use:
    """What was used between two readings. Time that a hypervisor took away counts as busy: nobody here had it."""

    seconds: float
    machine_share: float
    share_by_processor: dict[str, float]
    cpu_s_by_process: dict[str, float]


def read(processors: Sequence[int], processes: Mapping[str, int], proc: Path = Path("/proc")) -> Reading:
    """Look at these processors, and at these processes (by name, the pid of each) with all their descendants."""
    busy: dict[str, int] = {}
    passed: dict[str, int] = {}
    wanted = {f"cpu{number}": str(number) for number in processors}
    for line in (proc / "stat").read_text(encoding="ascii").splitlines():
        word, *numbers = line.split()
        if word in wanted:
            ticks = [int(number) for number in numbers[:_GUEST]]
            passed[wanted[word]] = sum(ticks)
            busy[wanted[word]] = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
    return Reading(monotonic_ns(), busy, passed, _by_process(processes, proc) if processes else {})


def used(before: Reading, after: Reading, generator_cpu_s: float, length_s: float) -> Use:
    """What lies between two readings, which may be a little further apart than the window of `length_s`: scaled to it.

    `generator_cpu_s` is what the load processes say of themselves; what is left belongs to the rest of the machine.
    """
    seconds = (after.instant_ns - before.instant_ns) / 1e9
    busy = {number: after.busy[number] - before.busy[number] for number in after.busy}
    passed = {number: max(1, after.passed[number] - before.passed[number]) for number in after.passed}
    to_window = length_s / seconds / _TICKS_PER_S
    by_process = {GENERATOR: generator_cpu_s} | {
        # A node that was started anew meanwhile begins again at nothing.
        name: max(0, ticks - before.by_process.get(name, 0)) * to_window
        for name, ticks in after.by_process.items()
    }
    rest = sum(busy.values()) * to_window - sum(by_process.values())
    return Use(
        seconds,
        round(sum(busy.values()) / max(1, sum(passed.values())), 4),
        {number: round(busy[number] / passed[number], 4) for number in busy},
        {name: round(cpu_s, 3) for name, cpu_s in (by_process | {REST: max(0.0, rest)}).items()},
    )


def of_servers_s(cpu_s_by_process: Mapping[str, float]) -> float | None:
    """What all nodes used together; None where none of them is a process of this machine."""
    nodes = [cpu_s for name, cpu_s in cpu_s_by_process.items() if name not in _NO_SERVERS]
    return sum(nodes) if nodes else None


def _by_process(processes: Mapping[str, int], proc: Path) -> dict[str, int]:
    """Ticks of each process and of everything below it, children that have ended included.

    By parentage, since a server's processes may each have a session of their own (PostgreSQL's do).
    """
    names = {pid: name for name, pid in processes.items()}
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended since
        fields = text.rpartition(")")[2].split()
        parents[int(folder.name)] = int(fields[_PARENT])
        ticks[int(folder.name)] = sum(map(int, fields[_USER : _CHILDREN_SYSTEM + 1]))
    found = dict.fromkeys((name for pid, name in names.items() if pid in ticks), 0)
    for pid, spent in ticks.items():
        above: int | None = pid
        while above is not None and above not in names:
            above = parents.get(above)
        if above is not None:
            found[names[above]] += spent
    return found
