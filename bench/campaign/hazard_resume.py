"""Going on with a hazard campaign that was interrupted, as the same experiment or not at all (see `resume.py`)."""

from collections.abc import Callable
from datetime import UTC, datetime

from bench import __version__
from bench.campaign.execute import git_commit
from bench.campaign.hazard_execute import HazardRunEnd, finish_hazards
from bench.campaign.resume import CannotResume, refuse_other_machine, refuse_other_software
from bench.campaign.servers import Progress
from bench.records.environment import capture_environment
from bench.records.hazards import HazardPlan
from bench.records.schema import Resumed, RunState
from bench.records.store import HazardFolder
from bench.servers.state import exclusive
from bench.servers.supervisor import Supervisor


def resume_hazards(
    folder: HazardFolder,
    supervisor: Supervisor,
    *,
    progress: Progress = lambda _: None,
    on_run_end: Callable[[HazardRunEnd], None] = lambda _: None,
) -> HazardFolder:
    """Play what is missing of a campaign.

    Raises CannotResume before anything is changed, and HazardsIncomplete at the end when a run failed again. The
    servers are the lab's own, and the same programs as before: the machine and its libraries are compared.
    """
    with exclusive(supervisor.home, "campaign"), folder.held():
        left = hazards_left(folder)
        refuse_other_software(folder.campaign, __version__, git_commit())
        progress("looking at this machine")
        now = capture_environment(supervisor.home, folder.environment.libraries)
        refuse_other_machine(folder.campaign.campaign_id, folder.environment, now)
        folder.write_resumed(Resumed(resumed_at=datetime.now(UTC).isoformat(timespec="seconds"), environment=now))
        return finish_hazards(folder, left, supervisor, progress, on_run_end)


def hazards_left(folder: HazardFolder) -> tuple[HazardPlan, ...]:
    """The planned runs that are not checked yet, in planned order. Raises CannotResume when there is none."""
    campaign = folder.campaign
    left = tuple(plan for plan in campaign.runs if folder.state_of(plan) is not RunState.CHECKED)
    if not left:
        raise CannotResume(f"hazard campaign {campaign.campaign_id} is complete, all {len(campaign.runs)} runs")
    return left
