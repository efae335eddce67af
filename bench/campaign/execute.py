"""Carrying out a campaign: servers up, every run in order, each run's folder true at every instant."""

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench import __version__
from bench.analysis.selfchecks import check_run
from bench.campaign.measuring_code import measuring_code
from bench.campaign.readiness import Readiness, readiness
from bench.campaign.servers import Progress
from bench.campaign.servers import servers_up as servers_up  # for whoever carries out more than campaigns
from bench.errors import LockbenchError
from bench.load.runner import LoadFailed, run_load
from bench.records.environment import capture_environment
from bench.records.schema import Campaign, Failed, RunPlan, RunState
from bench.records.store import CampaignFolder, RunFolder, Store, StoreError
from bench.servers.counters import gained
from bench.servers.spec import ServerSpec
from bench.servers.state import exclusive
from bench.servers.supervisor import ServersError, Supervisor
from bench.systems.registry import packages_of, server_sets, system


class CampaignIncomplete(LockbenchError):
    """Some runs have no measurement; the finished ones are kept."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How one run ended, for whoever shows progress."""

    plan: RunPlan
    state: RunState
    note: str


def new_campaign(mode_name: str, seed: int, runs: Sequence[RunPlan], pinned: bool = True) -> Campaign:
    """The record of a campaign that is about to start."""
    return Campaign(
        campaign_id=runs[0].campaign_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode_name,
        seed=seed,
        lockbench_version=__version__,
        git_commit=git_commit(),
        measuring_code=measuring_code(),
        pinned=pinned,
        runs=tuple(runs),
    )


def run_campaign(
    campaign: Campaign,
    store: Store,
    supervisor: Supervisor,
    *,
    keep_servers: bool = False,
    progress: Progress = lambda _: None,
    on_run_end: Callable[[RunEnd], None] = lambda _: None,
) -> CampaignFolder:
    """Carry out all runs of a campaign. Raises CampaignIncomplete at the end when a run failed; later runs still ran.

    Only one campaign runs at a time in one home folder. Servers that this call started are stopped when it ends in any
    way, Ctrl-C included; servers that were up before stay up.
    """
    specs = server_sets(tuple(system(plan.system) for plan in campaign.runs))
    with exclusive(supervisor.home, "campaign"):
        store.require_room(campaign.campaign_id)
        with servers_up(supervisor, specs, keep_servers, progress):
            progress("looking at this machine")
            machine = capture_environment(supervisor.home, packages_of(plan.system for plan in campaign.runs))
            folder = store.start_campaign(campaign, machine)
            with folder.held():
                return finish_runs(folder, campaign.runs, supervisor, specs, progress, on_run_end)


def finish_runs(
    folder: CampaignFolder,
    plans: Iterable[RunPlan],
    supervisor: Supervisor,
    specs: Sequence[ServerSpec],
    progress: Progress,
    on_run_end: Callable[[RunEnd], None],
) -> CampaignFolder:
    """Bring these runs to their end, whatever their state; none of them is checked yet. The servers are up.

    Raises CampaignIncomplete after the last one when a run failed.
    """
    failed = []
    with readiness(folder, supervisor, specs, progress) as servers:
        for plan in plans:
            progress(f"{plan.system}, {plan.workload.title}, repetition {plan.repetition}")
            end = _finish(plan, folder, supervisor, servers)
            on_run_end(end)
            if end.state is RunState.FAILED:
                failed.append(end)
    if failed:
        first, campaign = failed[0], folder.campaign
        raise CampaignIncomplete(
            f"{len(failed)} of {len(campaign.runs)} runs have no measurement; the others are kept in {folder.path}. "
            f"The first: {first.plan.run_id}: {first.note}. Its log: {folder.run(first.plan.run_id).log_path}. "
            f"`lockbench run --resume {campaign.campaign_id}` measures what is missing"
        )
    return folder


def _finish(plan: RunPlan, folder: CampaignFolder, supervisor: Supervisor, servers: Readiness) -> RunEnd:
    state = folder.state_of(plan)
    if state is RunState.MEASURED:
        return _check(plan, folder.run(plan.run_id))
    if state is not None:
        folder.set_aside(plan)
    return _carry_out(plan, folder, supervisor, servers)


def _carry_out(plan: RunPlan, folder: CampaignFolder, supervisor: Supervisor, servers: Readiness) -> RunEnd:
    run = folder.start_run(plan)
    try:
        ready = servers.of(plan)
        before = server_view(plan.system, supervisor)
        measured = run_load(plan, run, supervisor, placement=ready.placement)
        view = gained(before, server_view(plan.system, supervisor))
        measured = measured.model_copy(update={"server_view": view, "warmed": ready.warmed})
    except LoadFailed as failure:
        return _gave_up(run, plan, "load", failure)
    except LockbenchError as failure:
        return _gave_up(run, plan, "servers", failure)
    run.write(measured)
    return _check(plan, run)


def _check(plan: RunPlan, run: RunFolder) -> RunEnd:
    try:
        checked = check_run(plan, run.measured, run.events_path)
    except (OSError, ValueError) as broken:
        # The measurement stays: it cannot be told whether it may be believed, and nothing here may throw it away.
        raise StoreError(
            f"{run.events_path} cannot be read: {broken}. Rename {run.path.name} to have it measured again"
        ) from broken
    run.write(checked)
    notes = [check.message for check in checked.checks if not check.passed]
    return RunEnd(plan, run.state, "; ".join(notes))


def server_view(name: str, supervisor: Supervisor) -> Mapping[str, float]:
    """What the run's servers counted so far. Read outside the window, which the reading itself must not disturb."""
    spec = system(name).servers
    if spec is None:
        return {}
    try:
        return spec.view(supervisor.endpoint(spec))
    except ConnectionError as silent:
        raise ServersError(str(silent)) from silent


def _gave_up(run: RunFolder, plan: RunPlan, phase: str, failure: LockbenchError) -> RunEnd:
    run.write(Failed(phase=phase, reason=str(failure)))
    return RunEnd(plan, RunState.FAILED, str(failure))


def git_commit() -> str:
    """The commit of this checkout, `-dirty` when the tree differs from it; `unknown` where there is no checkout."""
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
