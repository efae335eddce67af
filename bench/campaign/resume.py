"""Going on with a campaign that was interrupted, so that it ends with the runs that were planned and no others.

A finished run is left as it is. A run that was measured gets the self-checks that it lacks. A run that was interrupted
or failed is set aside (renamed, never deleted) and measured anew under its own id, with its own seed.

Runs are replicates only while nothing but time lies between them. So a campaign goes on with the same lockbench, on the
same machine with the same libraries, and with servers that tell the same versions and settings, or not at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from bench import __version__
from bench.analysis.runs import WHICH_MEMBER
from bench.campaign.execute import RunEnd, finish_runs, git_commit
from bench.campaign.readiness import prepare_servers
from bench.campaign.servers import Progress, servers_up
from bench.errors import LockbenchError
from bench.load.runner import engine_of, facts_of, where
from bench.records.environment import capture_environment
from bench.records.hazards import HazardCampaign
from bench.records.schema import Campaign, Environment, Facts, Measured, Resumed, RunPlan, RunState
from bench.records.store import CampaignFolder
from bench.servers.spec import ServerSpec
from bench.servers.state import exclusive
from bench.servers.supervisor import Supervisor
from bench.systems.registry import server_sets, system

# Measured anew each time and never twice the same; everything else of an environment is looked up and must agree.
_MEASURED_FIELDS = {
    "schema_version",
    "fdatasync_us_p50",
    "fdatasync_us_p99",
    "fdatasync_calls",
    "loopback_rtt_us_p50",
    "loopback_rtt_us_bursts",
    "load_average_1m",
}
_MEMORY_STEP_BYTES = 2**26  # the kernel keeps a little more or less of the memory for itself at each start


class CannotResume(LockbenchError):
    """The campaign is complete, or something changed since it was interrupted; the message names it."""


def resume_campaign(
    folder: CampaignFolder,
    supervisor: Supervisor,
    *,
    keep_servers: bool = False,
    progress: Progress = lambda _: None,
    on_run_end: Callable[[RunEnd], None] = lambda _: None,
) -> CampaignFolder:
    """Carry out what is missing of a campaign.

    Raises CannotResume before anything is changed, and CampaignIncomplete at the end when a run failed again.
    """
    with exclusive(supervisor.home, "campaign"), folder.held():
        campaign = folder.campaign
        left = what_is_left(folder)
        to_measure = [plan for plan in left if folder.state_of(plan) is not RunState.MEASURED]
        refuse_other_software(campaign, __version__, git_commit())
        progress("looking at this machine")
        recorded = recorded_environment(folder)
        now = capture_environment(supervisor.home, recorded.libraries)
        refuse_other_machine(campaign.campaign_id, recorded, now)
        specs = server_sets(tuple(system(plan.system) for plan in to_measure))
        with servers_up(supervisor, specs, keep_servers, progress):
            progress("comparing the servers with those of before")
            refuse_other_servers(folder, to_measure, supervisor, specs)
            folder.write_resumed(Resumed(resumed_at=datetime.now(UTC).isoformat(timespec="seconds"), environment=now))
            return finish_runs(folder, left, supervisor, specs, progress, on_run_end)


def what_is_left(folder: CampaignFolder) -> tuple[RunPlan, ...]:
    """The planned runs that are not checked yet, in planned order. Raises CannotResume when there is none."""
    campaign = folder.campaign
    left = tuple(plan for plan in campaign.runs if folder.state_of(plan) is not RunState.CHECKED)
    if not left:
        raise CannotResume(
            f"campaign {campaign.campaign_id} is complete, all {len(campaign.runs)} runs are checked: "
            f"`lockbench report --campaign {campaign.campaign_id}` shows them"
        )
    return left


def refuse_other_software(campaign: Campaign | HazardCampaign, version: str, commit: str) -> None:
    """Raises CannotResume when another lockbench started the campaign."""
    pairs = {"version": (campaign.lockbench_version, version), "commit": (campaign.git_commit, commit)}
    unlike = [f"{name} {before} then, {now} now" for name, (before, now) in pairs.items() if before != now]
    if unlike:
        raise changed(campaign.campaign_id, "lockbench", unlike, "go on with the lockbench that started it")


def refuse_other_machine(campaign_id: str, before: Environment, now: Environment) -> None:
    """Raises CannotResume when the machine, its kernel, or a library differs; what is measured may."""
    then_told, now_told = _told(before), _told(now)
    unlike = _differences(then_told, now_told)
    if unlike:
        raise changed(campaign_id, "the machine or its libraries", unlike, "go on where it was started")


def refuse_other_facts(campaign_id: str, system_name: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raises CannotResume when a system's servers tell another version, source, size or durability than before."""
    unlike = _differences(before, now)
    if unlike:
        raise changed(campaign_id, system_name, unlike, "bring back the servers that it was started with")


def told_by_servers(source: str, engine: str, facts: Facts) -> dict[str, str]:
    """What must agree of a system's servers. Not their identity: private servers are made anew for each campaign."""
    durability = {f"durability {name}": value for name, value in facts.durability.items() if name not in WHICH_MEMBER}
    return {"source": source, "engine": engine, "version": facts.version, "nodes": str(facts.nodes), **durability}


def refuse_other_servers(
    folder: CampaignFolder, plans: Iterable[RunPlan], supervisor: Supervisor, specs: Sequence[ServerSpec]
) -> None:
    """Raises CannotResume when servers that are up now tell anything else than those of the finished runs."""
    recorded = _recorded(folder)
    first_of = {plan.system: plan for plan in reversed(list(plans))}
    for name, plan in first_of.items():
        before = recorded.get(name)
        if before is None:
            continue  # no run of this system was finished, so there is nothing that the new ones could be unlike
        prepare_servers(plan, supervisor, specs)
        entry = system(name)
        source, endpoint = where(entry, supervisor)
        told = told_by_servers(source, engine_of(endpoint), facts_of(entry, endpoint, "before"))
        refuse_other_facts(folder.campaign.campaign_id, entry.title, before, told)


def _recorded(folder: CampaignFolder) -> dict[str, dict[str, str]]:
    """By system, what the servers told before the first of its finished runs."""
    told: dict[str, dict[str, str]] = {}
    for run in folder.runs():
        if run.state in (RunState.MEASURED, RunState.CHECKED) and run.plan.system not in told:
            measured: Measured = run.measured
            engine = measured.capabilities.get("engine", "")
            told[run.plan.system] = told_by_servers(measured.source, engine, measured.facts_before)
    return told


def recorded_environment(folder: CampaignFolder) -> Environment:
    """The machine that the campaign began on. Raises CannotResume where it never did."""
    if not (folder.path / "environment.json").exists():
        raise CannotResume(
            f"{folder.path} holds a plan and nothing else: it was interrupted before its first run. "
            "Start it again under another name"
        )
    return folder.environment


def _told(environment: Environment) -> dict[str, str]:
    told = {
        name: str(value)
        for name, value in environment.model_dump(exclude={*_MEASURED_FIELDS, "libraries", "memory_bytes"}).items()
    }
    memory = f"{environment.memory_bytes / _MEMORY_STEP_BYTES:.0f} x 64 MiB"
    return {**told, "memory": memory, **{f"library {name}": text for name, text in environment.libraries.items()}}


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys([*before, *now])
    return [
        f"{name} {before.get(name, 'not recorded')} then, {now.get(name, 'not recorded')} now"
        for name in names
        if before.get(name) != now.get(name)
    ]


def changed(campaign_id: str, what: str, unlike: Sequence[str], remedy: str) -> CannotResume:
    """Why a campaign gets no more runs, and what to do."""
    return CannotResume(
        f"campaign {campaign_id} cannot go on, because {what} changed: {'; '.join(unlike)}. Runs of both would not be "
        f"replicates of each other. Either {remedy}, or start a new campaign. The finished runs are kept"
    )
