"""Load for servers that have just been started, until they are as fast as they will be.

A server of compiled code is warm at once; one on a JVM compiles itself while it works, for a minute and more, and a
campaign that begins meanwhile measures that: its runs differ by their place in the order. So before the first run on a
set of servers it has rounds of load of the mix that the workloads are made of (keys disputed and undisputed, waiting as
the system waits), until the throughput of the last rounds is flat, or the time is over. The record has every round.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.analysis.holds import read_events
from bench.analysis.steady import trend
from bench.campaign.servers import Progress
from bench.load.runner import run_load
from bench.records.numbers import percent
from bench.records.schema import RunPlan, WarmUp
from bench.records.store import RunFolder
from bench.records.workload import HOT_COLD, SATURATION, Workload
from bench.servers.running.pinning import Placement
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import system
from bench.systems.wait import Wait

ROUNDS_AT_ONCE = 10  # of one start of the load
ROUNDS_JUDGED = 20  # the last ones, of at least two starts where the time allows: a JVM's rise is slow
FLAT = 0.1  # change of the throughput across the rounds judged, as a share of their median
# So many clients on so many keys, all alike: some meet and wait, and yet the servers have nearly all that they can do.
# On a hot key most clients would stand in line, and a JVM compiles what runs often.
_CLIENTS, _KEYS = 16, 100
_CLIENTS_APART = 8


def warm_up(
    plan: RunPlan,
    within: Path,
    supervisor: Supervisor,
    placement: Placement,
    round_s: float,
    rounds_at_most: int,
    progress: Progress,
) -> WarmUp:
    """Put load on the servers of a plan's system; scratch files go into `within`. Raises LoadFailed."""
    title = system(plan.system).title
    rates: list[float] = []
    change: float | None = None
    while True:
        number = len(rates) // ROUNDS_AT_ONCE + 1
        progress(f"warming up {title}, {len(rates) * round_s:.0f} s so far{_told(rates, change)}")
        rates += _rounds(_plan(plan, number, round_s), within, supervisor, placement, round_s)
        change = _change(rates)
        enough = len(rates) >= min(ROUNDS_JUDGED, rounds_at_most)
        flat = enough and is_flat(change)
        if flat or len(rates) + ROUNDS_AT_ONCE > rounds_at_most:
            return WarmUp(round_s=round_s, pairs_per_s=tuple(rates), change=change, flat=flat)


def is_flat(change: float | None) -> bool:
    """Has the throughput settled? The size of the change decides, not how certain it is: doubt asks for more rounds."""
    return change is not None and abs(change) < FLAT


def _change(rates: Sequence[float]) -> float | None:
    found = trend(np.array(rates[-ROUNDS_JUDGED:], dtype=np.float64))
    return None if found is None else round(found.change, 4)


def _told(rates: Sequence[float], change: float | None) -> str:
    if change is None:
        return ""
    return f": {np.median(rates[-ROUNDS_JUDGED:]):.0f} pairs/s, last {percent(change, signed=True)}"


def _plan(plan: RunPlan, number: int, round_s: float) -> RunPlan:
    wait = system(plan.system).default_wait
    # To a server a poll is one more try, so there is no waiting to warm up; and pauses between polls would be most of
    # what is seen of its speed.
    polls = Wait.parse(wait).strategy == "poll"
    mix: dict[str, Any] = {"name": HOT_COLD, "clients": _CLIENTS, "keys": _KEYS, "wait": wait}
    apart: dict[str, Any] = {"name": SATURATION, "clients": _CLIENTS_APART, "keys": 0, "wait": "try"}
    workload = Workload(warmup_s=0.0, measure_s=ROUNDS_AT_ONCE * round_s, **(apart if polls else mix))
    # Keys have the seed in their names: these are no keys of the run.
    return plan.model_copy(update={"run_id": "warming", "workload": workload, "seed": plan.seed + number})


def _rounds(
    plan: RunPlan, within: Path, supervisor: Supervisor, placement: Placement, round_s: float
) -> Sequence[float]:
    """Pairs a second of each round of one start of the load."""
    with tempfile.TemporaryDirectory(dir=within, prefix=".warming-") as name:
        folder = RunFolder(Path(name))
        run_load(plan, folder, supervisor, placement=placement)
        granted_ns = read_events(folder.events_path).holds.acquired_ns
    if not len(granted_ns):
        return [0.0] * ROUNDS_AT_ONCE
    numbers = ((granted_ns - granted_ns.min()) / (round_s * 1e9)).astype(np.int64)
    # What ended after the last round had begun within it.
    counts = np.bincount(np.minimum(numbers, ROUNDS_AT_ONCE - 1), minlength=ROUNDS_AT_ONCE)
    return [round(float(count) / round_s, 1) for count in counts]
