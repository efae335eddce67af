"""Runs of jobs that never were, by way and number of contenders."""

import random
from collections.abc import Mapping

from bench.analysis.evidence import Evidence
from bench.analysis.runs import RunRow, Setting
from bench.records.histogram import LatencyHistogram
from bench.records.schema import Campaign, JobsDone
from bench.records.workload import Workload
from tests.campaigns import environment
from tests.run_rows import run_row

SETTING = Setting("15", "native", 1, (("fsync", "on"),), (), "", ())
Rates = Mapping[int, float]  # jobs per second by contenders


def row(
    way: str, clients: int, rate: float, repetition: int = 1, system: str = "postgres-row", **more: object
) -> RunRow:
    """One run; its jobs take what their rate says, and an optimist repeats one for each further contender."""
    harm, bounds = int(str(more.pop("lost", 0))), more.pop("bounds", ())
    asked: dict[str, object] = {"name": "update", "keys": 1, "compute_ms": 1.0, "wait": "block", **more}
    workload = Workload.model_validate({**asked, "clients": clients, "way": way, "label": f"{way} {clients} {asked}"})
    dice, latency = random.Random(clients), LatencyHistogram()
    for _ in range(400):
        latency.record(round(clients / rate * 1e9 * dice.uniform(0.5, 2.0)))
    retries = clients - 1 if way == "version" else 0
    done = JobsDone(
        way=way,
        lines_of_code={"lock": 29, "for-update": 15, "version": 24}.get(way, 12),
        acknowledged=400,
        unknown=0,
        due=400,
        writes=400,
        lost_updates=harm,
        missing=0,
        repeated=0,
        retries={str(retries): 400},
    )
    return run_row(
        f"{system}-{way}-{workload.name}-{workload.wait}-{clients}-{repetition:02d}",
        system,
        workload,
        repetition,
        void_cause="jobs lost" if harm else None,
        void_reason="jobs were overwritten" if harm else None,
        setting=SETTING,
        bounds=bounds,
        capabilities={"fencing_source": "" if system == "redlock" else "counter"},
        window_s=2.0,
        outcomes={"acquired": 400},
        acquire=latency,
        metrics={
            "jobs_per_s": rate,
            "job_us_p50": (latency.quantile_ns(0.5) or 0.0) / 1e3,
            "job_us_p99": (latency.quantile_ns(0.99) or 0.0) / 1e3,
            "retries_per_job": float(retries),
            "acquire_us_p50": None,
            "acquire_us_p99": None,
        },
        jobs=done,
    )


def line(way: str, rates: Rates, repetition: int = 1, **more: object) -> list[RunRow]:
    """The runs of one way, one for each number of contenders."""
    return [row(way, clients, rate, repetition, **more) for clients, rate in rates.items()]  # type: ignore[arg-type]


def evidence(rows: list[RunRow]) -> Evidence:
    """A campaign of these runs alone."""
    campaign = Campaign(
        campaign_id="made-up",
        created_at="2001-01-01T00:00:00+00:00",
        mode="quick",
        seed=1,
        lockbench_version="0",
        git_commit="0",
        runs=(),
    )
    return Evidence(campaign, environment(), tuple(rows), (), ())


def whole() -> list[RunRow]:
    """Every way, in two runs of each number of contenders."""
    found: list[RunRow] = []
    for repetition, mood in ((1, 1.0), (2, 1.06)):
        scaled = {name: {n: rate * mood for n, rate in rates.items()} for name, rates in _RATES.items()}
        for system in ("redis", "redlock", "zookeeper"):
            found += line("lock", scaled[system], repetition, system=system)
        found += line("for-update", scaled["row"], repetition)
        found += line("version", scaled["at once"], repetition, wait="try")
        found += line("version", scaled["paused"], repetition, wait="backoff-1ms-32ms-full")
        found += line("idempotency-key", scaled["key"], repetition, name="consume", keys=50_000)
    return found


_RATES: Mapping[str, Rates] = {
    "redis": {1: 300.0, 2: 310.0, 8: 290.0, 32: 260.0},
    "redlock": {1: 150.0, 2: 120.0, 8: 100.0, 32: 60.0},
    "zookeeper": {1: 180.0, 2: 200.0, 8: 205.0, 32: 200.0},
    "row": {1: 480.0, 2: 500.0, 8: 495.0, 32: 490.0},
    "at once": {1: 500.0, 2: 510.0, 8: 400.0, 32: 120.0},
    "paused": {1: 500.0, 2: 515.0, 8: 520.0, 32: 500.0},
    "key": {1: 600.0, 2: 1_100.0, 8: 3_000.0, 32: 4_200.0},
}
