"""What a campaign consists of: the cells (system x workload), how often each, and in which order.

Order: every repetition is a block in which all cells run once, shuffled by the campaign's seed. Drift of the machine
then falls on all cells alike instead of on whichever system came last (random interleaving; Duet benchmarking, arXiv
2001.05811).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.errors import LockbenchError
from bench.records.schema import RunPlan, Workload
from bench.systems.registry import HEADLINE, SYSTEMS, System, system

WORKLOADS = ("uncontended", "contended", "saturation")


@dataclass(frozen=True, slots=True)
class Mode:
    """How much to measure: small values smoke, large values measure."""

    name: str
    repetitions: int
    warmup_s: float
    measure_s: float
    contenders: int
    saturation_clients: int


QUICK = Mode("quick", repetitions=2, warmup_s=1.0, measure_s=3.0, contenders=8, saturation_clients=32)
FULL = Mode("full", repetitions=6, warmup_s=2.0, measure_s=10.0, contenders=8, saturation_clients=32)
MODES = {mode.name: mode for mode in (QUICK, FULL)}


def choose_systems(names: Sequence[str]) -> tuple[System, ...]:
    """Systems by name. `all` is the six headline systems, each with its durable sibling where there is one."""
    chosen: dict[str, System] = {}
    for name in names:
        for entry in _headline() if name == "all" else (system(name),):
            chosen[entry.name] = entry
    return tuple(chosen.values())


def _headline() -> Sequence[System]:
    return [SYSTEMS[name] for entry in map(system, HEADLINE) for name in (entry.name, entry.durable_variant) if name]


def choose_workloads(names: Sequence[str]) -> tuple[str, ...]:
    """Workloads by name; `all` is every one. Raises LockbenchError with the names that exist."""
    for name in names:
        if name != "all" and name not in WORKLOADS:
            raise LockbenchError(f"no workload {name!r}: choose from {', '.join(WORKLOADS)}, or all")
    return WORKLOADS if "all" in names else tuple(dict.fromkeys(names))


def workload_of(name: str, entry: System, mode: Mode) -> Workload:
    """The parameters of one cell. Uncontended and saturation clients never meet, so they try once and never wait."""
    alone = Workload(name=name, clients=1, keys=0, wait="try", warmup_s=mode.warmup_s, measure_s=mode.measure_s)
    if name == "uncontended":
        return alone
    if name == "saturation":
        return alone.model_copy(update={"clients": mode.saturation_clients})
    contended = {"clients": mode.contenders, "keys": 1, "hold_ms": 1.0, "wait": entry.default_wait}
    return alone.model_copy(update=contended)


def plan_runs(
    campaign_id: str, systems: Sequence[System], workloads: Sequence[str], mode: Mode, repetitions: int, seed: int
) -> tuple[RunPlan, ...]:
    """Every run of a campaign, in its seeded, interleaved order."""
    dice = random.Random(seed)
    cells = [(entry, name) for entry in systems for name in workloads]
    runs: list[RunPlan] = []
    for repetition in range(1, repetitions + 1):
        dice.shuffle(cells)
        for entry, name in cells:
            runs.append(
                RunPlan(
                    campaign_id=campaign_id,
                    run_id=f"{entry.name}-{name}-{repetition:02d}",
                    position=len(runs),
                    system=entry.name,
                    workload=workload_of(name, entry, mode),
                    repetition=repetition,
                    seed=dice.getrandbits(32),
                )
            )
    return tuple(runs)
