"""A whole calibration: servers up, rounds of measurements, one more look at what missed its target, the record."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

from bench import __version__
from bench.analysis.floor import declared_path
from bench.calibrate.comparison import COST_MS, WANTED, Load, Wanted
from bench.calibrate.explain import explain_by_floor, explain_by_samples
from bench.calibrate.locust_runs import WINDOW_S, sample_locust
from bench.calibrate.pgbench import Pgbench
from bench.calibrate.redis_benchmark import RedisBenchmark
from bench.calibrate.rounds import QUORUM, Rounds
from bench.campaign.measuring_code import git_commit
from bench.campaign.servers import servers_up
from bench.errors import LockbenchError
from bench.records.calibration import Calibration, Line
from bench.records.environment import capture_environment
from bench.records.schema import Environment
from bench.servers.running.state import exclusive
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Found, ServerSpec
from bench.systems.registry import server_sets, system

FLOOR_TARGET = 1.5
Show = Callable[[str, int, int], None]  # what is being measured, steps done, steps in all


class NotOurServers(LockbenchError):
    """Calibrating empties databases, which it does only to servers that lockbench started."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The native load generators on this machine, pointed at servers that are up."""

    redis: RedisBenchmark
    postgres: Pgbench


def calibrate(supervisor: Supervisor, pairs: int, show: Show = lambda *_: None) -> Calibration:
    """Measure every line `pairs` times (at least 1) and explain the misses.

    Raises HomeBusy while another campaign runs, NotOurServers, NativeToolFailed, LoadFailed, or what `Supervisor.up`
    raises. Whatever ends it, servers that it started and load processes are gone afterwards.
    """
    specs = server_sets(tuple(system(name) for name in COST_MS))
    for spec in specs:
        if supervisor.source(spec) == "url":
            raise NotOurServers(
                f"{spec.title} is yours, and calibrating would empty it: without its URL lockbench starts its own"
            )
    began = time.monotonic()
    with exclusive(supervisor.home, "campaign"), ExitStack() as opened:
        environment = capture_environment(supervisor.home)  # before our own servers are a load of their own
        opened.enter_context(servers_up(supervisor, specs, False, lambda step: show(step, 0, 0)))
        tools = _tools(supervisor)
        for spec in specs:
            supervisor.configure(spec, {})
        rounds = Rounds(supervisor, tools.redis, tools.postgres)
        steps = list(rounds.steps(pairs))
        for done, step in enumerate(steps):
            show(step.words, done, len(steps))
            step.take()
        lines = _lines(rounds, environment, lambda words: show(words, len(steps), len(steps)))
        return Calibration(
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            lockbench_version=__version__,
            git_commit=git_commit(),
            pairs=pairs,
            window_s=WINDOW_S,
            took_s=round(time.monotonic() - began, 1),
            programs=_versions(specs, tools),
            environment=environment,
            lines=lines,
        )


def _tools(supervisor: Supervisor) -> Tools:
    redis, postgres = system("redis").servers, system("postgres-row").servers
    assert redis is not None, "redis has servers"
    assert postgres is not None, "postgres-row has servers"
    return Tools(
        RedisBenchmark.find(_program(redis, "redis-server"), supervisor.endpoint(redis)),
        Pgbench.find(_program(postgres, "postgres"), supervisor.endpoint(postgres)),
    )


def _program(spec: ServerSpec, name: str) -> str | None:
    found = spec.find()
    return found.programs.get(name) if isinstance(found, Found) else None


def _versions(specs: tuple[ServerSpec, ...], tools: Tools) -> dict[str, str]:
    servers = {spec.name: found.version for spec in specs if isinstance(found := spec.find(), Found)}
    return {**servers, "redis-benchmark": tools.redis.version, "pgbench": tools.postgres.version}


def _lines(rounds: Rounds, environment: Environment, show: Callable[[str], None]) -> tuple[Line, ...]:
    lines = [wanted.line(rounds.samples) for wanted in WANTED]
    lines += [_floor_line(name, rounds, environment) for name in QUORUM]
    loads = {wanted.name: wanted.load for wanted in WANTED}
    seen: dict[Load, str] = {}
    explained = []
    for line in lines:
        load = loads.get(line.name)
        if line.met is False and load is not None:
            if load not in seen:
                show(f"sampling what missed: {line.title}")
                seen[load] = explain_by_samples(
                    sample_locust(rounds.supervisor, load.system, load.clients, load.processes)
                )
            line = line.model_copy(update={"explanation": seen[load]})
        explained.append(line)
    return tuple(explained)


def _floor_line(name: str, rounds: Rounds, environment: Environment) -> Line:
    """The median acquire of one client over what the algorithm cannot do without on this machine."""
    runs = rounds.runs[name]
    path = declared_path(runs[0][0].capabilities, runs[0][0].durability)
    floor_us = path.floor_us(environment)
    rounds.samples.native[f"floor-{name}"] = [floor_us] * len(runs)
    wanted = Wanted(
        f"floor-{name}",
        f"{name}: acquire of one client, p50",
        Load(name, 1),
        "µs",
        f"floor of {path.round_trips} round trips and {path.durable_writes} durable writes",
        FLOOR_TARGET,
    )
    line = wanted.line(rounds.samples)
    return wanted.line(rounds.samples, explain_by_floor(path, environment, runs)) if not line.met else line
