"""Adding runs to a campaign that was finished, instead of starting anew for one more workload or a few more runs.

The new runs are replicates of the old ones only if everything that makes a number is as it was. Compared are: the code
that measures (`measuring_code`, not the commit), the machine with its kernel and libraries, and what the servers tell
of their version, settings and number. The parameters come from the campaign's own mode, and its placement is kept.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from bench.campaign.execute import RunEnd, finish_runs
from bench.campaign.measuring_code import measuring_code
from bench.campaign.modes import Asked, Mode, mode_of, plan_runs, stem_of
from bench.campaign.resume import (
    CannotResume,
    changed,
    recorded_environment,
    refuse_other_machine,
    refuse_other_servers,
)
from bench.campaign.servers import Progress, servers_up
from bench.records.environment import capture_environment
from bench.records.schema import Added, Campaign, RunPlan
from bench.records.store import CampaignFolder
from bench.records.workload import Workload
from bench.servers.state import exclusive
from bench.servers.supervisor import Supervisor
from bench.systems.registry import System, server_sets, system


def runs_to_add(
    campaign: Campaign, systems: Sequence[System], workloads: Sequence[str | Asked], repetitions: int | None
) -> tuple[RunPlan, ...]:
    """Plans that go on where the campaign's own numbers end. Raises CannotResume for one that was made otherwise."""
    refuse_other_code(campaign, measuring_code())
    mode = mode_to_add(campaign)
    seed = secrets.randbits(31)
    count = mode.repetitions if repetitions is None else repetitions
    new = plan_runs(campaign.campaign_id, systems, workloads, mode, count, seed)
    there: Counter[str] = Counter()
    cells: dict[str, Workload] = {}
    for plan in campaign.runs:
        cell = stem_of(plan.system, plan.workload)
        there[cell], cells[cell] = max(there[cell], plan.repetition), plan.workload
    for plan in new:
        before = cells.get(stem_of(plan.system, plan.workload))
        if before is not None and before != plan.workload:
            raise CannotResume(
                f"{plan.workload.title} has other parameters in campaign {campaign.campaign_id}: give it another name"
            )
    return tuple(
        plan.model_copy(
            update={
                "position": len(campaign.runs) + plan.position,
                "repetition": (number := there[cell] + plan.repetition),
                "run_id": f"{cell}-{number:02d}",
            }
        )
        for plan in new
        for cell in [stem_of(plan.system, plan.workload)]
    )


def mode_to_add(campaign: Campaign) -> Mode:
    """The mode whose parameters new runs take. Raises CannotResume where the campaign was made by none."""
    mode = mode_of(campaign.mode)
    if mode is None:
        raise CannotResume(f"campaign {campaign.campaign_id} was not made by a mode of this lockbench: start a new one")
    return mode


def refuse_other_code(campaign: Campaign, now: str) -> None:
    """Raises CannotResume when the code that measures is not that of the campaign, or nobody knows."""
    then = campaign.measuring_code
    if then != now:
        unlike = [f"code that measures {then or 'not recorded'} then, {now} now"]
        raise changed(campaign.campaign_id, "lockbench", unlike, "add with the lockbench that started it")


def add_to_campaign(
    folder: CampaignFolder,
    plans: Sequence[RunPlan],
    supervisor: Supervisor,
    *,
    keep_servers: bool = False,
    progress: Progress = lambda _: None,
    on_run_end: Callable[[RunEnd], None] = lambda _: None,
) -> CampaignFolder:
    """Carry out more runs in a campaign's folder; an interruption is gone on with by `--resume`.

    Raises CannotResume before anything is changed, and CampaignIncomplete at the end when a run failed.
    """
    specs = server_sets(tuple(system(plan.system) for plan in plans))
    with exclusive(supervisor.home, "campaign"), folder.held():
        progress("looking at this machine")
        recorded = recorded_environment(folder)
        now = capture_environment(supervisor.home, recorded.libraries)
        refuse_other_machine(folder.campaign.campaign_id, recorded, now)
        with servers_up(supervisor, specs, keep_servers, progress):
            progress("comparing the servers with those of before")
            refuse_other_servers(folder, plans, supervisor, specs)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            folder.write_added(Added(added_at=at, environment=now, runs=tuple(plans)))
            return finish_runs(folder, plans, supervisor, specs, progress, on_run_end)
