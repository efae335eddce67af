"""Carrying out a campaign of any kind: started, resumed or added to, with each run's folder true at every instant.

A finished run is left as it is. A run that was measured gets the check that it lacks. A run that was interrupted or
failed is set aside (renamed, never deleted) and measured anew under its own id, with its own seed.
"""

import errno
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench.campaign.load_runs import LoadRuns
from bench.campaign.measuring_code import measuring_code
from bench.campaign.runs import Folder, Plan, Run, Runs
from bench.campaign.same_experiment import (
    CannotResume,
    recorded_environment,
    refuse_other_code,
    refuse_other_machine,
    refuse_other_software,
)
from bench.errors import LockbenchError
from bench.records.environment import capture_environment
from bench.records.hazards import HazardCampaign, HazardPlan
from bench.records.schema import LIVE, Added, Campaign, Environment, Failed, Resumed, RunPlan, RunState
from bench.records.store import AnyCampaignFolder, CampaignFolder, Store, StoreError
from bench.servers.running.state import exclusive
from bench.systems.registry import packages_of

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class CampaignIncomplete(LockbenchError):
    """Some runs are without a measurement or its check; the finished ones are kept."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How one run ended, for whoever shows progress."""

    plan: RunPlan | HazardPlan
    state: RunState
    note: str


OnRunEnd = Callable[[RunEnd], None]


def start(
    runs: Runs[Folder, Plan, Run],
    campaign: Campaign | HazardCampaign,
    store: Store,
    on_run_end: OnRunEnd = lambda _: None,
) -> Folder:
    """Carry out all runs of a campaign. Raises CampaignIncomplete at the end when a run failed; later runs still ran.

    Only one campaign runs at a time in one home folder. Servers that this call started are stopped when it ends in any
    way, Ctrl-C included. Where a server cannot be had, LockbenchError is raised before anything is written.
    """
    plans: Sequence[Plan] = campaign.runs  # type: ignore[assignment]  # a campaign has plans of its own kind
    with exclusive(runs.supervisor.home, "campaign"):
        store.require_room(campaign.campaign_id)
        with runs.servers(plans):
            runs.progress("looking at this machine")
            machine = capture_environment(runs.supervisor.home, packages_of(plan.system for plan in plans))
            folder = store.start(runs.folder, campaign, machine)
            with folder.held():
                return _finish(runs, folder, plans, on_run_end)


def resume(runs: Runs[Folder, Plan, Run], folder: Folder, on_run_end: OnRunEnd = lambda _: None) -> Folder:
    """Carry out what is missing of a campaign, as the same experiment (see same_experiment.py).

    Raises CannotResume before anything is changed, and CampaignIncomplete at the end when a run failed again.
    """
    with _held(runs, folder):
        left: Sequence[Plan] = what_is_left(folder)
        to_measure = [plan for plan in left if folder.state_of(plan) is not RunState.MEASURED]
        _refuse_other_software(folder, left)
        with _same_machine(runs, folder) as now, runs.servers(to_measure):
            runs.refuse_other_servers(folder, to_measure)
            folder.write_resumed(Resumed(resumed_at=_now(), environment=now))
            return _finish(runs, folder, left, on_run_end)


def add(
    runs: LoadRuns, folder: CampaignFolder, plans: Sequence[RunPlan], on_run_end: OnRunEnd = lambda _: None
) -> CampaignFolder:
    """Carry out more runs in a campaign's folder (see add.py); an interruption is gone on with by `resume`.

    Raises CannotResume before anything is changed, and CampaignIncomplete at the end when a run failed.
    """
    with _held(runs, folder), _same_machine(runs, folder) as now, runs.servers(plans):
        runs.refuse_other_servers(folder, plans)
        folder.write_added(Added(added_at=_now(), environment=now, runs=tuple(plans)))
        return _finish(runs, folder, plans, on_run_end)


def what_is_left(folder: AnyCampaignFolder[Any, Any]) -> tuple[Any, ...]:
    """The planned runs that are not checked yet, in planned order. Raises CannotResume when there is none, and for a
    live session, which nobody can repeat."""
    campaign = folder.campaign
    if campaign.mode == LIVE:
        raise CannotResume(f"{campaign.campaign_id} is a live session: it cannot be resumed")
    left = tuple(plan for plan in campaign.runs if folder.state_of(plan) is not RunState.CHECKED)
    if not left:
        raise CannotResume(
            f"{folder.title} {campaign.campaign_id} is complete, all {len(campaign.runs)} runs are checked: "
            f"`{folder.shown_by} {campaign.campaign_id}` shows them"
        )
    return left


def _refuse_other_software(folder: Folder, left: Sequence[Plan]) -> None:
    """What is left of an addition alone goes on under the rule by which it was added."""
    if isinstance(folder, CampaignFolder):
        added = {plan.run_id for addition in folder.additions() for plan in addition.runs}
        if all(plan.run_id in added for plan in left):
            return refuse_other_code(folder.campaign, measuring_code(), "resume")
    return refuse_other_software(folder.campaign)


@contextmanager
def _held(runs: Runs[Folder, Plan, Run], folder: Folder) -> Iterator[None]:
    with exclusive(runs.supervisor.home, "campaign"), folder.held():
        yield


@contextmanager
def _same_machine(runs: Runs[Folder, Plan, Run], folder: Folder) -> Iterator[Environment]:
    runs.progress("looking at this machine")
    recorded = recorded_environment(folder)
    now = capture_environment(runs.supervisor.home, recorded.libraries)
    refuse_other_machine(folder.campaign.campaign_id, recorded, now)
    yield now


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _finish(runs: Runs[Folder, Plan, Run], folder: Folder, plans: Sequence[Plan], on_run_end: OnRunEnd) -> Folder:
    """Bring these runs to their end, whatever their state; none of them is checked yet.

    Raises CampaignIncomplete after the last one when a run failed.
    """
    failed: list[RunEnd] = []
    one_at_a_time = threading.Lock()

    def ended(plan: Plan, note: str) -> None:
        end = RunEnd(plan, folder.run(plan.run_id).state, note)
        with one_at_a_time:
            on_run_end(end)
            if end.state is not RunState.CHECKED:
                failed.append(end)

    to_measure = []
    for plan in plans:
        if folder.state_of(plan) is RunState.MEASURED:
            ended(plan, runs.check(plan, folder.run(plan.run_id)))
        else:
            to_measure.append(plan)
    if to_measure:
        runs.play(folder, to_measure, lambda plan: ended(plan, _carry_out(runs, folder, plan)))
    if failed:
        first, campaign = failed[0], folder.campaign
        raise CampaignIncomplete(
            f"{len(failed)} of {len(campaign.runs)} runs have no {runs.nothing}; the others are kept in {folder.path}. "
            f"The first: {first.plan.run_id}: {first.note}. Its log: {folder.run(first.plan.run_id).log_path}. "
            f"`{folder.to_resume(campaign.campaign_id)}` {runs.does} what is missing"
        )
    return folder


def _carry_out(runs: Runs[Folder, Plan, Run], folder: Folder, plan: Plan) -> str:
    """One run, from its plan to its check; returns the notes of it. Raises StoreError when the disk is full."""
    if folder.state_of(plan) is not None:
        folder.set_aside(plan)
    run = folder.start_run(plan)
    try:
        record = runs.measure(plan, run)
    except LockbenchError as failure:
        run.write(Failed(phase=runs.phase_of(failure), reason=str(failure)))
        return str(failure)
    except OSError as refused:
        if refused.errno not in _DISK_FULL:
            raise
        raise StoreError(f"cannot write {run.log_path}: {refused.strerror}. Free space, then resume") from refused
    run.write(record)
    return runs.check(plan, run)
