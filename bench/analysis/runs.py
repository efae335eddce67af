"""One row a run: what was asked, what was measured, and whether the run may be believed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from bench.analysis import names
from bench.analysis.check_parts import GENERATOR_CPU_LIMIT, clients_of, generator_share, is_alone
from bench.analysis.from_events import FROM_EVENTS, STRANGERS_STALLS
from bench.analysis.notes import check_title
from bench.analysis.quantiles import FRACTIONS, carried_quantile_us
from bench.records.histogram import LatencyHistogram
from bench.records.packed import require_whole
from bench.records.processor_time import of_servers_s
from bench.records.schema import (
    STRANGERS,
    JobsDone,
    LadderStep,
    Measured,
    NetworkMeasured,
    OverTime,
    PeerNetworkMeasured,
    RunPlan,
    RunState,
    Severity,
    Struck,
    Traffic,
    WarmUp,
)
from bench.records.store import CampaignFolder, RunFolder, StoreError
from bench.records.workload import Workload

GENERATOR_CHECK = "generator_cpu"  # the self-check that fails where the load processes had no processor time to spare
# What makes a rate of a run a lower bound, and a latency an upper one: a word for the cell, by what binds.
CLIENT = "client"  # a client alone in its process computed nearly all the time
GENERATOR = "generator"  # clients queued for their process's processor
MACHINE = "machine"  # servers and generator wanted more processors than there are
CLIENTS = "clients"  # throughput still rose with the last clients of the ladder
_BOUND_BY_CHECK = {"client_cpu": CLIENT, GENERATOR_CHECK: GENERATOR, "machine_cpu": MACHINE, "knee": CLIENTS}
# Facts that say which member of an ensemble answered, not how it keeps data: they differ between runs that are alike.
WHICH_MEMBER = {"role"}
_ACQUIRED = "acquire/acquired"
_RELEASED = "release/released"
_RESPONDED = "response/acquired"


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A self-check that a run did not pass; `message` is a sentence for a footnote."""

    name: str
    severity: Severity
    observed: str
    limit: str
    message: str


@dataclass(frozen=True, slots=True)
class Setting:
    """What must agree before two runs of one cell may be pooled, besides the workload's digest."""

    server_version: str
    source: str
    nodes: int | None  # None: the servers did not tell
    durability: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    engine: str
    placement: tuple[tuple[str, str], ...] = ()  # on which processors; empty: not recorded


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run. Everything below `setting` is None or empty where the run has no measurement."""

    campaign_id: str
    run_id: str
    system: str
    workload: Workload
    repetition: int
    state: RunState
    void_cause: str | None  # why no number may be taken from this run, in a word or two; None: it counts
    void_reason: str | None  # the same as a sentence
    passed_checks: tuple[str, ...]
    failed_checks: tuple[FailedCheck, ...]
    setting: Setting | None = None
    capabilities: Mapping[str, str] = field(default_factory=dict)
    window_s: float | None = None
    outcomes: Mapping[str, int] = field(default_factory=dict)  # how the acquires ended; those of strangers apart
    strangers_outcomes: Mapping[str, int] = field(default_factory=dict)
    acquire: LatencyHistogram | None = None  # ns, acquires that got the lock
    release: LatencyHistogram | None = None  # ns, releases that freed it
    server_view: Mapping[str, float] = field(default_factory=dict)  # see `Measured.server_view`
    load_counts: Mapping[str, int] = field(default_factory=dict)  # arrivals, unsent; knee_clients, window_clients
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # by the names of `bench.analysis.metrics`
    bounds: tuple[str, ...] = ()  # what makes a rate of this run only a bound, of the words above
    curve: tuple[LadderStep, ...] = ()  # of saturation: rate and latency by number of clients, before the window
    jobs: JobsDone | None = None  # of a workload of jobs
    window_clients: int | None = None  # at work in the window: latencies of unlike numbers are not alike
    machine_cpu_share: float | None = None  # None: not recorded
    cpu_s_by_process: Mapping[str, float] = field(default_factory=dict)
    placement: Mapping[str, str] = field(default_factory=dict)  # empty: not recorded
    warmed: Mapping[str, WarmUp] = field(default_factory=dict)  # by set of servers; empty: not recorded
    faults: tuple[Struck, ...] = ()
    availability: Mapping[str, float] = field(default_factory=dict)  # see `Checked.availability`
    over_time: OverTime | None = None
    network: NetworkMeasured | None = None  # None: there was none but what there is
    peer_network: PeerNetworkMeasured | None = None  # the same between servers
    traffic: Traffic | None = None  # None: it was not counted

    @property
    def void(self) -> bool:
        return self.void_cause is not None

    @property
    def operations(self) -> int:
        """How many acquires got the lock within the window: the sample behind the latencies."""
        return self.acquire.total if self.acquire is not None else 0


def run_rows(folder: CampaignFolder, wanted: Callable[[RunPlan], bool] = lambda _: True) -> tuple[RunRow, ...]:
    """Every run that was started and is `wanted`, in planned order. Raises StoreError for a damaged file."""
    return tuple(_row(run) for run in folder.runs() if wanted(run.plan))


def run_frame(rows: tuple[RunRow, ...]) -> pd.DataFrame:
    """The same as a table: plain columns, units in their names, one row a run, ordered by system and workload."""
    ordered = sorted(
        rows, key=lambda row: (names.position(row.system), row.system, row.workload.title, row.repetition, row.run_id)
    )
    own = any(row.workload.label for row in rows)
    return pd.DataFrame([_flat(row, own=own) for row in ordered])


def further_parameters(workload: Workload) -> dict[str, object]:
    """What tables of cells and runs leave out of a workload while all cells are of a mode, which says it."""
    shown = {"name", "label", "clients", "keys", "ttl_ms", "hold_ms", "wait"}
    return {"workload_kind": workload.name, **workload.model_dump(exclude=shown)}


def _row(run: RunFolder) -> RunRow:
    plan, state = run.plan, run.state
    if state is RunState.INTERRUPTED:
        return _unmeasured(plan, state, "interrupted", "the run has no measurement")
    if state is RunState.FAILED:
        failed = run.failed
        return _unmeasured(plan, state, f"failed ({failed.phase})", failed.reason)
    measured = run.measured
    require_whole(run.events_path)
    passed: tuple[str, ...] = ()
    from_events: Mapping[str, float] = {}
    failures: tuple[FailedCheck, ...] = ()
    cause, reason = "not checked", "the self-checks of this run are missing"
    if state is RunState.CHECKED:
        checked = run.checked
        checks, from_events = checked.checks, checked.from_events
        passed = tuple(check.name for check in checks if check.passed)
        failures = tuple(
            FailedCheck(check.name, check.severity, check.observed, check.limit, check.message)
            for check in checks
            if not check.passed
        )
        voiding = [check for check in failures if check.severity is Severity.VOID]
        cause = ", ".join(check_title(check.name) for check in voiding)
        reason = "; ".join(check.message for check in voiding)
    row = _measured_row(plan, state, measured, (cause, reason), passed, failures, from_events)
    if state is RunState.CHECKED and measured.faults:
        row = replace(row, faults=measured.faults, availability=checked.availability, over_time=checked.over_time)
    return row


def _unmeasured(plan: RunPlan, state: RunState, cause: str, reason: str) -> RunRow:
    return RunRow(
        campaign_id=plan.campaign_id,
        run_id=plan.run_id,
        system=plan.system,
        workload=plan.workload,
        repetition=plan.repetition,
        state=state,
        void_cause=cause,
        void_reason=reason,
        passed_checks=(),
        failed_checks=(),
    )


def _measured_row(
    plan: RunPlan,
    state: RunState,
    measured: Measured,
    void: tuple[str, str],
    passed: tuple[str, ...],
    failures: tuple[FailedCheck, ...],
    from_events: Mapping[str, float],
) -> RunRow:
    acquire = _histogram(plan.run_id, measured, _ACQUIRED)
    release = _histogram(plan.run_id, measured, _RELEASED)
    pairs = measured.counts.get(_RELEASED, 0)
    metrics: dict[str, float | None] = {}
    phases = {"acquire": acquire, "release": release}
    if plan.workload.rate_per_s:
        # Only an open loop has an intended instant of its own; in a closed one a response is an acquire.
        phases["response"] = _histogram(plan.run_id, measured, _RESPONDED)
    for phase, histogram in phases.items():
        for quantile, fraction in FRACTIONS.items():
            metrics[f"{phase}_us_{quantile}"] = carried_quantile_us(histogram, fraction)
    mean_ns = acquire.mean_ns()
    metrics["acquire_us_mean"] = None if mean_ns is None else mean_ns / 1e3
    rate = pairs / measured.window_s
    bounds = _bounds(plan, measured, failures)
    if measured.ladder_recorded and bounds:
        # A ceiling is at least what was reached at any time. Without a bound the window alone speaks: the best of
        # several steps would flatter.
        rate = max(rate, *(step.pairs_per_s for step in measured.ladder))
    metrics["throughput_pairs_per_s"] = rate if pairs else None
    every_pair = pairs + measured.counts.get(f"{STRANGERS}{_RELEASED}", 0)  # the processor time is that of all clients
    metrics["client_cpu_us_per_pair"] = measured.generator_cpu_s * 1e6 / every_pair if every_pair else None
    servers_cpu_s = of_servers_s(measured.cpu_s_by_process)
    # The kernel counts in ticks of 10 ms: fewer than one of them tell nothing.
    by_pair = servers_cpu_s / every_pair if servers_cpu_s and every_pair else None
    metrics["server_cpu_us_per_pair"] = by_pair * 1e6 if by_pair else None
    metrics["pairs_per_server_core_s"] = 1.0 / by_pair if by_pair else None
    metrics["generator_cpu_share"] = generator_share(measured)
    metrics["requests_per_grant"] = _requests_per_grant(plan, measured)
    metrics |= {name: from_events.get(name) for name in FROM_EVENTS}
    if plan.workload.strangers_from is not None:
        metrics |= _of_strangers(plan.run_id, measured, from_events)
    if measured.jobs is not None:
        metrics |= _of_jobs(acquire, measured.window_s, measured.jobs)
    facts = measured.facts_before
    return RunRow(
        campaign_id=plan.campaign_id,
        run_id=plan.run_id,
        system=plan.system,
        workload=plan.workload,
        repetition=plan.repetition,
        state=state,
        void_cause=void[0] or None,
        void_reason=void[1] or None,
        passed_checks=passed,
        failed_checks=failures,
        setting=Setting(
            server_version=facts.version,
            source=measured.source,
            nodes=facts.nodes,
            durability=tuple(sorted(item for item in facts.durability.items() if item[0] not in WHICH_MEMBER)),
            tags=tuple(sorted(measured.tags)),
            engine=measured.capabilities.get("engine", ""),
            placement=tuple(sorted(measured.placement.items())),
        ),
        capabilities=measured.capabilities,
        window_s=measured.window_s,
        outcomes=_outcomes(measured, "acquire/"),
        strangers_outcomes=_outcomes(measured, f"{STRANGERS}acquire/"),
        acquire=acquire,
        release=release,
        server_view=measured.server_view,
        load_counts=_load_counts(plan, measured),
        metrics=metrics,
        bounds=bounds,
        curve=measured.ladder,
        jobs=measured.jobs,
        window_clients=clients_of(plan, measured),
        machine_cpu_share=measured.machine_cpu_share,
        cpu_s_by_process=measured.cpu_s_by_process,
        placement=measured.placement,
        warmed=measured.warmed,
        network=measured.network,
        peer_network=measured.peer_network,
        traffic=measured.traffic,
    )


def _of_jobs(jobs: LatencyHistogram, window_s: float, done: JobsDone) -> dict[str, float | None]:
    """Slow jobs at one record overlap by what is asked of them, so the number of stalls behind a p99 says nothing."""
    retries = sum(int(count) * having for count, having in done.retries.items())
    return {
        "jobs_per_s": jobs.total / window_s if jobs.total else None,
        **{f"job_us_{quantile}": carried_quantile_us(jobs, FRACTIONS[quantile]) for quantile in ("p50", "p99")},
        "retries_per_job": retries / jobs.total if jobs.total else None,
    }


def _of_strangers(run_id: str, measured: Measured, from_events: Mapping[str, float]) -> dict[str, float | None]:
    acquire = _histogram(run_id, measured, f"{STRANGERS}{_ACQUIRED}")
    pairs = measured.counts.get(f"{STRANGERS}{_RELEASED}", 0)
    quantiles = {one: carried_quantile_us(acquire, FRACTIONS[one]) for one in ("p50", "p99")}
    return {
        **{f"stranger_acquire_us_{one}": value for one, value in quantiles.items()},
        "stranger_pairs_per_s": pairs / measured.window_s if pairs else None,
        STRANGERS_STALLS: from_events.get(STRANGERS_STALLS),
    }


def _outcomes(measured: Measured, begins: str) -> dict[str, int]:
    """How many acquires ended how."""
    found = sorted(measured.counts.items())
    return {name.removeprefix(begins): count for name, count in found if name.startswith(begins) and count}


def _requests_per_grant(plan: RunPlan, measured: Measured) -> float | None:
    """By rates, since the looks at the servers lie a little outside the window.

    None beside strangers: the servers count their requests as well, and do not say whose is which.
    """
    if plan.workload.strangers_from is not None:
        return None
    grants, requests = measured.counts.get(_ACQUIRED, 0), measured.window_view.get("requests")
    if requests is None or not grants:
        return None
    return (requests / measured.window_view_s) / (grants / measured.window_s)


def _bounds(plan: RunPlan, measured: Measured, failures: tuple[FailedCheck, ...]) -> tuple[str, ...]:
    """In the order of the words."""
    found = {_BOUND_BY_CHECK[check.name] for check in failures if check.name in _BOUND_BY_CHECK}
    # Asked of the numbers: the check of older records passed a lone client, for want of anybody to queue behind.
    if is_alone(plan, measured) and generator_share(measured) > GENERATOR_CPU_LIMIT:
        found.add(CLIENT)
    return tuple(word for word in (CLIENT, GENERATOR, MACHINE, CLIENTS) if word in found)


def _load_counts(plan: RunPlan, measured: Measured) -> dict[str, int]:
    """What a load model counts of itself, by the field names of `Measured`; empty where it has nothing to say."""
    if plan.workload.rate_per_s:
        return {"arrivals": measured.arrivals, "unsent": measured.unsent}
    found = {"knee_clients": measured.knee_clients, "window_clients": measured.window_clients}
    return {name: count for name, count in found.items() if count is not None}


def _histogram(run_id: str, measured: Measured, name: str) -> LatencyHistogram:
    text = measured.histograms.get(name)
    if not text:
        return LatencyHistogram()
    try:
        return LatencyHistogram.decode(text)
    except ValueError as broken:
        raise StoreError(f"run {run_id}: {name} is damaged: {broken}. Move the run's folder away") from broken


def _flat(row: RunRow, *, own: bool) -> dict[str, object]:
    setting, workload = row.setting, row.workload
    flat: dict[str, object] = {
        "campaign_id": row.campaign_id,
        "run_id": row.run_id,
        "system": row.system,
        "workload": workload.title,
        "workload_digest": workload.digest,
        "repetition": row.repetition,
        "clients": workload.clients,
        "keys": workload.keys,
        "ttl_ms": workload.ttl_ms,
        "hold_ms": workload.hold_ms,
        "wait": workload.wait,
        **(further_parameters(workload) if own else {}),
        "state": str(row.state),
        "void_reason": f"{row.void_cause}: {row.void_reason}" if row.void else "",
        "failed_checks": ", ".join(sorted(check.name for check in row.failed_checks)),
        "source": setting.source if setting else "",
        "server_version": setting.server_version if setting else "",
        "nodes": setting.nodes if setting else None,
        "durability": durability_text(setting.durability) if setting else "",
        "tags": ", ".join(setting.tags) if setting else "",
        "window_s": row.window_s,
        "operations": row.operations,
        "outcomes": ", ".join(f"{name} {count}" for name, count in row.outcomes.items()),
    }
    if row.network is not None:
        flat["network_rtt_us"] = row.network.rtt_us
    if row.peer_network is not None:
        flat["peer_network_rtt_us"] = row.peer_network.rtt_us
    if row.jobs is not None:
        flat |= row.jobs.model_dump(exclude={"way", "retries"})
    return flat | dict(row.metrics) | dict(row.load_counts)


def durability_text(durability: tuple[tuple[str, str], ...]) -> str:
    """The server's own settings on one line."""
    return ", ".join(f"{name}: {value or '(empty)'}" for name, value in durability)
