"""A made-up sweep of contention: plainly no measurement, with one cell that is void and one with too few operations."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.analysis.contention.measures import CONTENTION
from bench.analysis.from_events import FROM_EVENTS
from bench.records.schema import Checked, RunPlan
from bench.records.store import CampaignFolder
from bench.records.workload import Workload
from tests import campaigns

WAYS: Mapping[str, Sequence[str]] = {
    "redis": ("poll-5ms-j20", "backoff-5ms-80ms-full", "pubsub-500ms"),
    "zookeeper": ("watch", "herd"),
    "etcd": ("watch", "herd"),
    "postgres-row": ("block", "notify-500ms"),
}
HAND_OFF_US = {"poll": 2_100.0, "backoff": 9_000.0, "pubsub": 180.0, "watch": 900.0, "herd": 1_500.0, "block": -20.0}
HOLD_MS = 5.0
VOID = ("etcd", 64)  # of the sweep of contenders: two holders, say
SHORT = ("postgres-row", 64)  # too few operations for a percentile


def metrics(workload: Workload) -> dict[str, float]:
    """What the events of such a run might have told."""
    way = workload.wait.partition("-")[0]
    hand_off_us = HAND_OFF_US.get(way, 300.0)
    service_us = workload.hold_ms * 1e3 + 200.0 + max(0.0, hand_off_us)
    fair_us = (workload.clients - 1) * service_us
    unfair = 6.0 if way in ("poll", "backoff") else 1.1
    found = {
        "hand_off_us_mean": hand_off_us * 1.1 + 50.0,
        "hand_off_us_p50": hand_off_us,
        "hand_off_us_p99": abs(hand_off_us) * 4.0 + 100.0,
        "queue_wait_us_mean": fair_us,
        "queue_wait_us_p50": fair_us / unfair,
        "queue_wait_us_p99": fair_us * unfair,
        "fair_wait_us_mean": fair_us,
        "fair_wait_us_p99": fair_us,
        "wait_by_fair_p99": unfair,
        "key_utilisation": 0.95,
        "overtaking_share": 0.4 if unfair > 2.0 else 0.0,
        "jain_index": 0.6 if unfair > 2.0 else 1.0,
        "clients_without_grant": 0.0,
        "longest_wait_us": fair_us * unfair * 2.0,
        "wait_by_time_us": fair_us * unfair,
        "changed_hands_share": 0.9,
        "longest_streak": 3.0,
        "stalls_p99": 9.0,
    }
    if workload.open_loop:
        found["key_utilisation"] = workload.rate_per_s * service_us / 1e6
        found["queue_wait_us_mean"] = service_us * found["key_utilisation"]
    return {name: value for name, value in found.items() if name in (*FROM_EVENTS, *CONTENTION)}


def _workloads(system: str) -> Iterator[Workload]:
    ways = WAYS[system]
    shared = {"hold_ms": HOLD_MS, "measure_s": campaigns.WINDOW_S, "timeout_ms": 60_000}
    yield Workload(name="uncontended", keys=0, clients=1, label="alone", measure_s=campaigns.WINDOW_S)
    for clients in (2, 8, 64):
        for wait in (ways[0], *(("herd",) if "herd" in ways else ())):
            yield Workload(
                name="contended", keys=1, clients=clients, wait=wait, label=f"contenders, {clients} {wait}", **shared
            )
    for wait in ways:
        yield Workload(name="contended", keys=1, clients=32, wait=wait, label=f"strategies, {wait}", **shared)
    for keys in (4, 16):
        label = f"shards, {keys} keys"
        yield Workload(name="contended", keys=keys, clients=32, wait=ways[0], label=label, **shared)
    for rate in (15.0, 30.0):
        label = f"arrivals, {rate:g} a second"
        yield Workload(
            name="contended-rate", keys=1, clients=32, wait=ways[0], rate_per_s=rate, label=label,
            **{**shared, "hold_ms": 20.0},
        )  # fmt: skip


def swept(root: Path, runs: int = 2, recorded: bool = True) -> CampaignFolder:
    """The whole sweep; not `recorded`: of a code that knew no hand-offs."""
    plans = [
        RunPlan(
            campaign_id="made-up-sweep",
            run_id=f"{system}-{number:02d}-{repetition:02d}",
            position=0,
            system=system,
            workload=workload,
            repetition=repetition,
            seed=17 * number + repetition,
        )
        for system in WAYS
        for number, workload in enumerate(_workloads(system))
        for repetition in range(1, runs + 1)
    ]
    folder = campaigns.start(root, plans)
    for plan in plans:
        _add(folder, plan, recorded)
    return folder


def _add(folder: CampaignFolder, plan: RunPlan, recorded: bool) -> None:
    workload, shape = plan.workload, campaigns.SHAPES[plan.system]
    named = plan.model_copy(
        update={"workload": workload.model_copy(update={"name": "contended" if workload.keys else "uncontended"})}
    )
    view = {"requests": 400.0 * (workload.clients if workload.wait == "herd" else 3.0)}
    record = campaigns.measured(
        named, shape, operations=400, window_view=view, window_view_s=campaigns.WINDOW_S, generator_cpu_s=0.04
    )
    told = metrics(workload) if workload.keys and recorded else {}
    of_sweep = workload.label.startswith("contenders")
    if of_sweep and (plan.system, workload.clients) == SHORT:
        told = {name: value for name, value in told.items() if not name.endswith(("_p50", "_p99"))}
    void = of_sweep and (plan.system, workload.clients) == VOID
    run = folder.start_run(plan)
    run.write(record)
    run.write(Checked(checks=(campaigns.check("mutual_exclusion", passed=not void, void=True),), from_events=told))
