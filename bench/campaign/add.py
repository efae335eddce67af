"""Which runs are added to a finished campaign, instead of starting anew for one more workload or a few more runs.

The new runs are replicates of the old ones only if everything that makes a number is as it was. Compared are: the code
that measures (`measuring_code`, not the commit), the machine with its kernel and libraries, and what the servers tell
of their version, settings and number. The parameters come from the campaign's own mode, and its placement is kept.
"""

import secrets
from collections import Counter
from collections.abc import Sequence

from bench.campaign.load_plans import plan_runs, stem_of
from bench.campaign.measuring_code import measuring_code
from bench.campaign.modes import Asked, Mode, mode_of
from bench.campaign.same_experiment import CannotResume, refuse_other_code
from bench.records.schema import Campaign, RunPlan
from bench.records.workload import Workload
from bench.systems.registry import System


def runs_to_add(
    campaign: Campaign, systems: Sequence[System], workloads: Sequence[str | Asked], repetitions: int | None
) -> tuple[RunPlan, ...]:
    """Plans that go on where the campaign's own numbers end. Raises CannotResume for one that was made otherwise."""
    refuse_other_code(campaign, measuring_code(), "add")
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
