"""The record of a run, from what its load processes counted, its rows, and what was seen of servers and machine.

One for every run: those that were planned, and a session on the live page.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.load.phases import LAG, THINK, WAKE, generator_gaps, phases_of
from bench.load.rows import Rows
from bench.records.histogram import LatencyHistogram
from bench.records.ladder import knee_clients
from bench.records.processor_time import Use
from bench.records.schema import (
    Facts,
    JobsDone,
    LadderStep,
    LiveSession,
    Measured,
    RecordsServers,
    RunPlan,
    Struck,
)
from bench.records.workload import Workload
from bench.servers.endpoint import Endpoint
from bench.systems.registry import System, system

_ERRORS_KEPT = 10


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Whose servers a run had, what they said, what the machine spent, and what was done to them meanwhile."""

    source: str
    endpoint: Endpoint
    facts_before: Facts
    facts_after: Facts
    use: Use
    placement: dict[str, str]
    window_view: Mapping[str, float] = field(default_factory=dict)
    window_view_s: float = 0.0
    faults: tuple[Struck, ...] = ()
    records_servers: RecordsServers | None = None


def histograms_of(workload: Workload, rows: Rows, result: Mapping[str, Any]) -> dict[str, LatencyHistogram]:
    """By "phase/outcome". Raises ValueError when a duration is negative: a clock went wrong."""
    gap, gaps = generator_gaps(rows, workload.open_loop)
    lag = LatencyHistogram({int(edge): count for edge, count in result["lag"].items()})
    return {**phases_of(rows, workload.strangers_from), gap: gaps, LAG: lag}


def measured_of(
    plan: RunPlan,
    result: Mapping[str, Any],
    histograms: Mapping[str, LatencyHistogram],
    around: Surroundings,
    ladder: Sequence[LadderStep] = (),
    jobs: JobsDone | None = None,
    live: LiveSession | None = None,
) -> Measured:
    """`result` is what the load processes counted, as `Collector` writes it down; the window is the plan's."""
    # What the rows say is held against what the processes counted, phase by phase: see the self-check `counts_agree`.
    # Gaps lie between two rows, and of the lag there are none.
    counts = {name: one.total for name, one in histograms.items() if name in (THINK, WAKE, LAG)} | result["counts"]
    entry, use = system(plan.system), around.use
    return Measured(
        started_at=result["started_at"],
        window_s=plan.workload.measure_s,
        window_ns=tuple(result["window_ns"]),
        histograms={phase: histogram.encode() for phase, histogram in sorted(histograms.items())},
        counts=dict(sorted(counts.items())),
        aborted=result["aborted"],
        arrivals=result["arrivals"],
        unsent=result["unsent"],
        lost_updates=result["lost_updates"],
        jobs=jobs,
        ladder=tuple(ladder),
        ladder_recorded=bool(ladder),
        climb_requests=result["climb_requests"],
        window_clients=result["window_clients"],
        knee_clients=knee_clients(ladder),
        generator_cpu_s=result["cpu_s"],
        generator_processes=result["processes"],
        facts_before=around.facts_before,
        facts_after=around.facts_after,
        source=around.source,
        records_servers=around.records_servers,
        locust_requests=result["locust_requests"],
        machine_cpu_share=use.machine_share,
        cpu_share_by_processor=use.share_by_processor,
        cpu_s_by_process=use.cpu_s_by_process,
        placement=around.placement,
        window_view=dict(around.window_view),
        window_view_s=around.window_view_s,
        errors=dict(Counter(result["errors"]).most_common(_ERRORS_KEPT)),
        self_observations=result["observations"],
        capabilities={**entry.client_class.capabilities.texts(), "engine": engine_of(around.endpoint)},
        faults=around.faults,
        tags=_tags(entry, around.source, around.facts_before),
        live=live,
    )


def engine_of(endpoint: Endpoint) -> str:
    """Which of a system's several engines answers; empty where there is only one."""
    return str(endpoint.options.get("engine", ""))


def _tags(entry: System, source: str, facts: Facts) -> tuple[str, ...]:
    """The registry's tags. The real DynamoDB, at a URL of the user's own, is no emulator."""
    real = source == "url" and facts.version == "dynamodb"
    return tuple(tag for tag in entry.tags if not (real and tag == "emulator"))
