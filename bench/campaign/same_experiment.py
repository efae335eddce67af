"""Whether a campaign may go on: as the same experiment, or not at all.

Runs are replicates only while nothing but time lies between them. So a campaign goes on with the same lockbench, on the
same machine with the same libraries, and with servers that tell the same versions and settings. Of runs that are added,
and of an addition that was interrupted, only the code that measures must be the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench import __version__
from bench.campaign.measuring_code import git_commit
from bench.errors import LockbenchError
from bench.records.hazards import HazardCampaign
from bench.records.schema import Campaign, Environment
from bench.records.store import AnyCampaignFolder

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


def refuse_other_software(campaign: Campaign | HazardCampaign) -> None:
    """Raises CannotResume when another lockbench started the campaign."""
    pairs = {"version": (campaign.lockbench_version, __version__), "commit": (campaign.git_commit, git_commit())}
    unlike = [f"{name} {before} then, {now} now" for name, (before, now) in pairs.items() if before != now]
    if unlike:
        raise changed(campaign.campaign_id, "lockbench", unlike, "resume with the lockbench that started it")


def refuse_other_code(campaign: Campaign, now: str, to_do: str) -> None:
    """Of runs beyond the campaign's own plan: raises CannotResume when the code that measures is not that of the
    campaign, or nobody knows. `to_do` is what was asked for: add, or resume."""
    then = campaign.measuring_code
    if then != now:
        unlike = [f"code that measures {then or 'not recorded'} then, {now} now"]
        raise changed(campaign.campaign_id, "lockbench", unlike, f"{to_do} with the lockbench that started it")


def refuse_other_machine(campaign_id: str, before: Environment, now: Environment) -> None:
    """Raises CannotResume when the machine, its kernel, or a library differs; what is measured may."""
    then_facts, now_facts = _facts(before), _facts(now)
    unlike = _differences(then_facts, now_facts)
    if unlike:
        raise changed(campaign_id, "the machine or its libraries", unlike, "resume where it was started")


def refuse_other_facts(campaign_id: str, system_name: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raises CannotResume when a system's servers tell another version, source, size or durability than before."""
    unlike = _differences(before, now)
    if unlike:
        raise changed(campaign_id, system_name, unlike, "bring back the servers that it was started with")


def recorded_environment(folder: AnyCampaignFolder[Any, Any]) -> Environment:
    """The machine that the campaign began on. Raises CannotResume where it never did."""
    if not (folder.path / "environment.json").exists():
        raise CannotResume(
            f"{folder.path} holds a plan and nothing else: it was interrupted before its first run. "
            "Start it again under another name"
        )
    return folder.environment


def _facts(environment: Environment) -> dict[str, str]:
    facts = {
        name: str(value)
        for name, value in environment.model_dump(exclude={*_MEASURED_FIELDS, "libraries", "memory_bytes"}).items()
    }
    memory = f"{environment.memory_bytes / _MEMORY_STEP_BYTES:.0f} x 64 MiB"
    return {**facts, "memory": memory, **{f"library {name}": text for name, text in environment.libraries.items()}}


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
        f"campaign {campaign_id} cannot resume, because {what} changed: {'; '.join(unlike)}. Runs of both would not be "
        f"replicates of each other. Either {remedy}, or start a new campaign. The finished runs are kept"
    )
