"""Synthetic campaigns, through the real store and schema, for tests of analysis and report.

The latencies are seeded log-normal draws: plainly not a measurement, and never written under data/.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.analysis.runs import GENERATOR_CHECK
from bench.records.histogram import LatencyHistogram
from bench.records.schema import (
    Campaign,
    Check,
    Checked,
    Environment,
    Facts,
    Failed,
    Measured,
    RunPlan,
    Severity,
    Workload,
)
from bench.records.store import CampaignFolder, Store
from bench.systems.registry import SYSTEMS

SYNTHETIC = "synthetic-campaign"
WINDOW_S = 4.0


@dataclass(frozen=True, slots=True)
class Shape:
    """How one made-up system behaves: median and spread of its acquire, its rate, and what its server says."""

    median_us: float
    sigma: float
    pairs_per_s: float
    nodes: int
    version: str
    durability: Mapping[str, str]
    capabilities: Mapping[str, str] = field(default_factory=dict)


def capabilities(fencing_source: str, nodes: int, quorum: int, **more: str) -> dict[str, str]:
    """Capability facts as a run records them."""
    return {
        "fencing_source": fencing_source,
        "token_rises": "true" if fencing_source else "false",
        "expiry_judge": "server",
        "lease_scope": "grant",
        "queue_order": "none",
        "durability": "made up",
        "nodes": str(nodes),
        "quorum": str(quorum),
        "acquire_round_trips": "1",
        "peer_round_trips": "0",
        "acquire_durable_writes": "0",
        "durable_when": "",
        **more,
    }


_NO_FSYNC = {"appendfsync": "everysec", "appendonly": "no", "save": ""}
_FSYNC = {"appendfsync": "always", "appendonly": "yes", "save": ""}
_POSTGRES = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "synchronous_standby_names": "none",
    "wal_sync_method": "fdatasync",
}
_ZOOKEEPER = {"forceSync": "yes", "role": "leader", "syncLimit": "5", "tickTime": "500"}
_FLUSHED = {"acquire_durable_writes": "1", "durable_when": "appendonly=yes, appendfsync=always"}
_AGREED = {"acquire_durable_writes": "1", "peer_round_trips": "1", "durable_when": "wal_fsync=on"}
_ZAB = {**_AGREED, "durable_when": "forceSync=yes"}
_COUNTER = capabilities("INCR of a counter beside the lock, in the script that wins it", 1, 1, **_FLUSHED)
_SEQUENCE = capabilities("sequence, drawn while the row is held", 1, 1)
_ITEM = capabilities("count in the item, raised by each grant", 1, 1, engine="dynalite")
SHAPES: Mapping[str, Shape] = {
    "redis": Shape(95, 0.35, 9_400, 1, "7.0.15", _NO_FSYNC, _COUNTER),
    "redis-aof": Shape(1_050, 0.45, 2_900, 1, "7.0.15", _FSYNC, _COUNTER),
    "redlock": Shape(420, 0.40, 2_100, 5, "7.0.15", _NO_FSYNC, capabilities("", 5, 3, **_FLUSHED)),
    "redlock-aof": Shape(3_100, 0.42, 700, 5, "7.0.15", _FSYNC, capabilities("", 5, 3, **_FLUSHED)),
    "zookeeper": Shape(4_600, 0.45, 640, 3, "3.8.0", _ZOOKEEPER, capabilities("czxid", 3, 2, **_ZAB)),
    "etcd": Shape(
        7_200,
        0.30,
        520,
        3,
        "3.4.23",
        {"voters": "3", "wal_fsync": "on"},
        capabilities("create revision", 3, 2, **_AGREED),
    ),
    "postgres-row": Shape(1_300, 0.40, 2_200, 1, "15.14 (Debian 15.14-0+deb12u1)", _POSTGRES, _SEQUENCE),
    "dynamodb": Shape(2_700, 0.5, 340, 1, "dynalite 3.2.1", {"storage": "in memory"}, _ITEM),
}

WORKLOADS: Mapping[str, Mapping[str, object]] = {
    "uncontended": {"clients": 1, "keys": 0, "wait": "try"},
    "contended": {"clients": 8, "keys": 1, "hold_ms": 1.0},
    "saturation": {"clients": 32, "keys": 0, "wait": "try"},
}


def environment() -> Environment:
    """A machine that does not exist."""
    return Environment(
        cpu_model="Imaginary CPU @ 2.00GHz",
        cpu_count=2,
        memory_bytes=8 * 2**30,
        kernel="6.1.0-synthetic",
        governor="unknown",
        operating_system="Debian GNU/Linux 12 (bookworm)",
        virtualization="none",
        filesystem="ext4",
        fdatasync_us_p50=850.0,
        fdatasync_us_p99=2_400.0,
        loopback_rtt_us_p50=31.0,
        python="3.11.2",
        libraries={"redis": "0.0.0"},
        load_average_1m=0.2,
    )


def workload(name: str, system: str) -> Workload:
    """The parameters of one made-up cell."""
    chosen = dict(WORKLOADS[name])
    entry = SYSTEMS.get(system)
    chosen.setdefault("wait", entry.default_wait if entry else "poll-5ms")
    return Workload.model_validate({"name": name, "measure_s": WINDOW_S, **chosen})


def histogram(median_us: float, sigma: float, operations: int, dice: random.Random) -> LatencyHistogram:
    """`operations` log-normal draws, in ns."""
    drawn = LatencyHistogram()
    for _ in range(operations):
        drawn.record(max(1, round(dice.lognormvariate(math.log(median_us * 1_000.0), sigma))))
    return drawn


def measured(plan: RunPlan, shape: Shape, *, operations: int | None = None, **changes: object) -> Measured:
    """What a run of this plan might have left behind. `changes` replace fields of the record."""
    dice = random.Random(plan.seed)
    mood = math.exp(dice.gauss(0.0, 0.06))  # runs differ from each other by more than their operations do
    contended = plan.workload.name == "contended"
    median_us = shape.median_us * mood * (12.0 if contended else 1.0)
    sigma = shape.sigma * (1.6 if contended else 1.0)
    rates = {"uncontended": 1e6 / (2.2 * median_us), "contended": 300.0, "saturation": shape.pairs_per_s * mood}
    rate = rates[plan.workload.name]
    acquired = operations if operations is not None else round(rate * WINDOW_S)
    timeouts = 3 if contended and plan.system == "redlock" else 0
    histograms = {
        "acquire/acquired": histogram(median_us, sigma, acquired, dice),
        "release/released": histogram(median_us * 0.8, shape.sigma, acquired, dice),
    }
    told = {"redis": "execute", "redis-aof": "execute", "zookeeper": "answer", "etcd": "answer"}.get(plan.system, "")
    server_view = {f"{told}_calls": 2.0 * acquired, f"{told}_us": median_us * acquired} if told else {}
    if plan.system == "etcd":
        server_view |= {"fsync_calls": 6.0 * acquired, "fsync_us": 6.0 * acquired * 900.0}
    counts = {name: drawn.total for name, drawn in histograms.items()}
    if timeouts:
        histograms["acquire/timeout"] = histogram(5e6, 0.001, timeouts, dice)
        counts["acquire/timeout"] = timeouts
    facts = Facts(version=shape.version, identity="made-up", durability=dict(shape.durability), nodes=shape.nodes)
    record = Measured(
        started_at="2001-01-01T00:00:00+00:00",
        window_s=WINDOW_S,
        histograms={name: drawn.encode() for name, drawn in histograms.items()},
        counts=counts,
        aborted=0,
        generator_cpu_s=WINDOW_S * 0.4,
        generator_processes=1,
        facts_before=facts,
        facts_after=facts,
        source="native",
        locust_requests=acquired + timeouts,
        capabilities=dict(shape.capabilities),
        server_view=server_view,
        tags=SYSTEMS[plan.system].tags if plan.system in SYSTEMS else (),
    )
    return Measured.model_validate(record.model_dump() | changes)


def check(name: str = "loop_lag", *, passed: bool = True, void: bool = False) -> Check:
    """One self-check."""
    return Check(
        name=name,
        passed=passed,
        severity=Severity.VOID if void else Severity.NOTE,
        observed="14 ms",
        limit="5 ms",
        message=f"the {name} check saw 14 ms (limit 5 ms): measure again on a quieter machine",
    )


def plans(
    systems: Sequence[str] = tuple(SHAPES),
    workloads: Sequence[str] = tuple(WORKLOADS),
    repetitions: int = 3,
    campaign_id: str = SYNTHETIC,
) -> tuple[RunPlan, ...]:
    """Run plans in plain order."""
    dice = random.Random(7)
    found: list[RunPlan] = []
    for repetition in range(1, repetitions + 1):
        for system in systems:
            for name in workloads:
                found.append(
                    RunPlan(
                        campaign_id=campaign_id,
                        run_id=f"{system}-{name}-{repetition:02d}",
                        position=len(found),
                        system=system,
                        workload=workload(name, system),
                        repetition=repetition,
                        seed=dice.getrandbits(32),
                    )
                )
    return tuple(found)


def start(root: Path, runs: Sequence[RunPlan]) -> CampaignFolder:
    """An empty campaign in a store at `root`."""
    record = Campaign(
        campaign_id=runs[0].campaign_id,
        created_at="2001-01-01T00:00:00+00:00",
        mode="custom",
        seed=7,
        lockbench_version="0.0.0",
        git_commit="0123456789ab",
        runs=tuple(runs),
    )
    return Store(root).start(CampaignFolder, record, environment())


def add_run(folder: CampaignFolder, plan: RunPlan, record: Measured | Failed | None, *checks: Check) -> None:
    """One run's folder: measured and checked, failed, or (None) interrupted."""
    run = folder.start_run(plan)
    if record is None:
        return
    run.write(record)
    if isinstance(record, Measured):
        run.write(Checked(checks=checks or (check(),)))


def whole_campaign(root: Path, repetitions: int = 3) -> CampaignFolder:
    """All six systems and the durable siblings, with one noted check, one void run and one failed run."""
    runs = plans(repetitions=repetitions)
    folder = start(root, runs)
    for plan in runs:
        record: Measured | Failed = measured(plan, SHAPES[plan.system])
        checks = [check(), check("token_order"), check("mutual_exclusion")]
        if (plan.system, plan.workload.name, plan.repetition) == ("etcd", "uncontended", 2):
            checks[0] = check(passed=False)
        if (plan.system, plan.workload.name, plan.repetition) == ("postgres-row", "contended", 1):
            checks[0] = check(passed=False, void=True)
        if plan.workload.name == "saturation" and plan.system.startswith("redis"):
            checks.append(check(GENERATOR_CHECK, passed=False))
        if (plan.system, plan.workload.name) == ("dynamodb", "saturation"):
            record = Failed(phase="load", reason="the server closed the connection")
        add_run(folder, plan, record, *checks)
    return folder
