"""Locust's side of a comparison: one short run of the campaign's own runner, and the numbers that are compared."""

import itertools
import json
import os
import secrets
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.errors import LockbenchError
from bench.load.runner import run_load
from bench.load.sampled import SAMPLE_INTO
from bench.records.histogram import LatencyHistogram
from bench.records.schema import Measured, RunPlan
from bench.records.store import RunFolder
from bench.records.workload import UNCONTENDED, Workload
from bench.servers.running.supervisor import Supervisor

WINDOW_S = 1.5
_WARMUP_S = 0.3
_SEEDS = itertools.count(secrets.randbits(31))
_GOOD = frozenset({"acquire/acquired", "release/released"})


class RunUnfit(LockbenchError):
    """A run had operations that failed: its rate is not one of the work that was meant."""


@dataclass(frozen=True, slots=True)
class LocustRun:
    """What one run of Locust amounts to."""

    pairs_per_s: float
    acquire_us_p50: float
    release_us_p50: float
    cpu_ms_per_pair: float
    capabilities: Mapping[str, str]  # as recorded with a run, see `Measured`
    durability: Mapping[str, str]  # as the server reported it


def run_locust(supervisor: Supervisor, system: str, clients: int, processes: int = 1) -> LocustRun:
    """Drive a system without contention for `WINDOW_S`. Raises LoadFailed or RunUnfit."""
    plan = RunPlan(
        campaign_id="calibration",
        run_id=f"{system}-{clients}",
        position=0,
        system=system,
        workload=Workload(
            name=UNCONTENDED,
            clients=clients,
            keys=0,
            warmup_s=_WARMUP_S,
            measure_s=WINDOW_S,
            processes=processes,
        ),
        repetition=1,
        seed=next(_SEEDS),
    )
    with tempfile.TemporaryDirectory(dir=supervisor.home, prefix=".calibrate-") as folder:
        measured = run_load(plan, RunFolder(Path(folder)), supervisor)
    bad = {
        name: count
        for name, count in measured.counts.items()
        if name.startswith(("acquire/", "release/")) and name not in _GOOD
    }
    pairs = measured.counts.get("release/released", 0)
    if bad or not pairs:
        raise RunUnfit(
            f"{system} with {clients} clients: {bad or 'no operation'}; {measured.errors or 'no reason given'}"
        )
    return LocustRun(
        pairs_per_s=pairs / measured.window_s,
        acquire_us_p50=_p50_us(measured, "acquire/acquired"),
        release_us_p50=_p50_us(measured, "release/released"),
        cpu_ms_per_pair=measured.generator_cpu_s / pairs * 1e3,
        capabilities=measured.capabilities,
        durability=measured.facts_after.durability,
    )


def _p50_us(measured: Measured, name: str) -> float:
    return (LatencyHistogram.decode(measured.histograms[name]).quantile_ns(0.5) or 0.0) / 1e3


@dataclass(frozen=True, slots=True)
class Sampled:
    """Where the processor time of a load went: shares of the samples by function, and the kernel's share."""

    kernel_share: float
    samples: int
    functions: Counter[str]


def sample_locust(supervisor: Supervisor, system: str, clients: int, processes: int = 1) -> Sampled:
    """One more run, sampled. Raises as `run_locust`."""
    with tempfile.TemporaryDirectory(dir=supervisor.home, prefix=".samples-") as folder:
        with _variable(SAMPLE_INTO, folder):
            run_locust(supervisor, system, clients, processes)
        trees = [json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("samples-*.json")]
    functions: Counter[str] = Counter()
    for tree in trees:
        for place, count in tree["functions"].items():
            functions[short_place(place)] += count
    kernel_s, user_s = (sum(tree[name] for tree in trees) for name in ("system_s", "user_s"))
    return Sampled(kernel_s / max(1e-9, kernel_s + user_s), functions.total(), functions)


def short_place(place: str) -> str:
    """`…/site-packages/gevent/hub.py:run` as `gevent/hub.py:run`: no path of this machine goes into a record."""
    path, _, function = place.rpartition(":")
    parts = Path(path).parts
    for root in ("site-packages", "bench"):
        if root in parts:
            last = len(parts) - 1 - parts[::-1].index(root)
            return "/".join(parts[last + (root == "site-packages") :]) + ":" + function
    return f"{Path(path).name}:{function}"


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """An environment variable that load processes started in the block inherit."""
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
