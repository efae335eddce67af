"""Which hazard runs: scenarios x systems x their grid, in a seeded order.

Safety shows in a single run, so the quick set plays each combination once. The full set plays a larger grid, and most
of it six times, since times (recovery, hazard windows) need intervals over runs.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from bench import __version__
from bench.campaign.measuring_code import git_commit
from bench.campaign.order import interleaved
from bench.errors import LockbenchError
from bench.hazards.scenario import Scenario, load_scenario, scenario_names
from bench.records.hazards import HazardCampaign, HazardPlan
from bench.systems.registry import system

QUICK = "quick"
FULL = "full"


def choose_scenarios(names: Sequence[str]) -> tuple[Scenario, ...]:
    """Scenarios by name; `all` is every one. Raises ScenarioError with the names that exist."""
    wanted = [one for name in names for one in (scenario_names() if name == "all" else [name])]
    return tuple(load_scenario(name) for name in dict.fromkeys(wanted))


def plan_hazards(
    campaign_id: str,
    scenarios: Sequence[Scenario],
    systems: Sequence[str],
    mode: str,
    repetitions: int | None,
    seed: int,
) -> HazardCampaign:
    """The campaign. `systems` may hold `all`: those that each scenario chooses.

    `repetitions` None: as mode and scenario say. Raises LockbenchError for a system that no scenario is about.
    """
    about = dict.fromkeys(name for one in scenarios for name in one.systems)
    choice = f"these scenarios are about {', '.join(about)}"
    for name in systems:
        # `system` raises for a name that does not exist.
        if name != "all" and not any(one.can_be_played_on(system(name).name) for one in scenarios):
            raise LockbenchError(f"no selected scenario supports {name}: {choice}")
    cells = []
    for scenario in scenarios:
        grid = scenario.full if mode == FULL else scenario.quick
        for name in _systems_of(scenario, systems):
            cells += [(scenario.name, name, values) for values in scenario.combinations(grid, name)]
    if not cells:
        raise LockbenchError(f"no selected scenario supports {', '.join(systems) or 'no system'}: {choice}")
    often = {one.name: repetitions or (one.full_repetitions if mode == FULL else 1) for one in scenarios}
    plans: list[HazardPlan] = []
    numbers: Counter[tuple[str, str]] = Counter()
    for (scenario_name, name, values), place in interleaved(cells, lambda cell: often[cell[0]], seed):
        numbers[scenario_name, name] += 1
        plans.append(
            HazardPlan(
                campaign_id=campaign_id,
                run_id=f"{scenario_name}-{name}-{numbers[scenario_name, name]:02d}",
                position=place.position,
                scenario=scenario_name,
                system=name,
                parameters=values,
                repetition=place.repetition,
                seed=place.seed,
            )
        )
    return HazardCampaign(
        campaign_id=campaign_id,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        mode=mode,
        seed=seed,
        lockbench_version=__version__,
        git_commit=git_commit(),
        runs=tuple(plans),
    )


def _systems_of(scenario: Scenario, wanted: Sequence[str]) -> Sequence[str]:
    chosen = [name for name in scenario.systems if name in wanted or "all" in wanted]
    named = [name for name in dict.fromkeys(wanted) if name != "all" and name not in chosen]
    return chosen + [name for name in named if scenario.can_be_played_on(name)]
