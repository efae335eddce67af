"""Short runs of the load, as a campaign would start them, for the tests of this folder."""

import itertools
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.analysis.selfchecks import check_run
from bench.load.runner import run_load
from bench.records.schema import Check, Measured, RunPlan
from bench.records.store import RunFolder
from bench.records.workload import Workload
from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.servers.running.supervisor import Supervisor

_SEEDS = itertools.count(time.time_ns() % 1_000_000_000)


@dataclass(frozen=True)
class Ran:
    """A finished run: its plan, its record and its checks by name."""

    plan: RunPlan
    folder: RunFolder
    measured: Measured
    checks: Mapping[str, Check]
    from_events: Mapping[str, float]


def plan_of(system: str, **workload: Any) -> RunPlan:
    """A plan with a short window; `workload` overrides."""
    parameters = {"name": "uncontended", "clients": 1, "keys": 0, "warmup_s": 0.2, "measure_s": 0.5, **workload}
    return RunPlan(
        campaign_id="test",
        run_id="run",
        position=0,
        system=system,
        workload=Workload(**parameters),
        repetition=1,
        seed=next(_SEEDS),
    )


def run(folder: Path, system: str, variant: Mapping[str, str] | None = None, **workload: Any) -> Ran:
    """Carry a run out on a system that needs no server, and check it."""
    return carry_out(plan_of(system, **workload), folder, Supervisor(folder / "home"), variant)


def carry_out(plan: RunPlan, path: Path, supervisor: Supervisor, variant: Mapping[str, str] | None = None) -> Ran:
    """Carry a plan out and check it."""
    folder = RunFolder(path)
    measured = run_load(plan, folder, supervisor, variant)
    checked = check_run(plan, measured, folder.events_path)
    return Ran(plan, folder, measured, {check.name: check for check in checked.checks}, checked.from_events)


@contextmanager
def own_redis(folder: Path) -> Iterator[tuple[Endpoint, "subprocess.Popen[bytes]"]]:
    """A redis-server for one test. It is installed wherever the tests run; a machine without it fails them."""
    (port,) = free_ports(1)
    argv = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if b"Ready to accept connections" in line:
                    break
            yield Endpoint((("127.0.0.1", port),)), server
        finally:
            server.kill()
