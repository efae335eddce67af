"""`lockbench hazard list | run`: real faults on real lock holders, and who wrote what."""

import typer
from rich.table import Table

from bench.commands.campaign_runs import CAMPAIGN_NAME, new_name, new_seed, refuse_a_second_plan, shown_runs
from bench.commands.terminal import OUT, print_json
from bench.errors import LockbenchError
from bench.records.store import HazardFolder, Store
from bench.servers.running.supervisor import Supervisor

app = typer.Typer(help="Pause, kill, cut off and clock-shift real lock holders, and see who wrote what.")


def register(parent: typer.Typer) -> None:
    """Add `hazard` to the app."""
    parent.add_typer(app, name="hazard", no_args_is_help=True)


@app.command("list")
def list_scenarios(as_json: bool = typer.Option(False, "--json", help="Print the scenarios as JSON.")) -> None:
    """Show every scenario: what happens, and on which systems.

    Example: lockbench hazard list
    """
    from bench.campaign.hazard_plans import choose_scenarios

    scenarios = choose_scenarios(["all"])
    if as_json:
        print_json(
            [{"name": one.name, "title": one.title, "fault": one.fault, "systems": one.systems} for one in scenarios]
        )
        return
    table = Table("scenario", "what happens", "fault", "systems")
    for one in scenarios:
        table.add_row(one.name, one.title, one.fault, ", ".join(one.systems))
    OUT.print(table)


@app.command()
def run(
    context: typer.Context,
    scenarios: list[str] = typer.Argument(None, help="Scenarios (see `lockbench hazard list`), or all."),
    systems: str = typer.Option("all", "--system", "-s", help="Systems, separated by commas, or all."),
    quick: bool = typer.Option(False, "--quick", help="The quick set (the default): every hazard once, in minutes."),
    full: bool = typer.Option(
        False, "--full", help="Larger grids, most of them six times; half an hour or more. Can be resumed."
    ),
    repetitions: int | None = typer.Option(
        None, "--repetitions", "-n", min=1, max=1000, help="Runs of each scenario and system. Default: set by the mode."
    ),
    seed: int | None = typer.Option(None, "--seed", min=0, help="Seed of the order. Default: a new one."),
    name: str | None = CAMPAIGN_NAME,
    resume: str | None = typer.Option(None, "--resume", help="Resume this one (latest-hazards: the last)."),
    as_json: bool = typer.Option(False, "--json", help="Print the findings as JSON."),
) -> None:
    """Play scenarios on the lab's own servers and print the result of each run.

    Examples: lockbench hazard run gc-pause --system redis,etcd;  lockbench hazard run all;  lockbench hazard run
    --resume latest-hazards
    """
    from bench.campaign.carrying_out import resume as resume_runs
    from bench.campaign.carrying_out import start, what_is_left
    from bench.campaign.hazard_plans import FULL, QUICK, choose_scenarios, plan_hazards
    from bench.campaign.hazard_runs import HazardRuns

    if quick and full:
        raise LockbenchError("--quick and --full exclude each other: choose one")
    if resume is not None:
        refuse_a_second_plan(context, _OF_A_PLAN)
        folder = Store.default().open(HazardFolder, resume)
        with shown_runs(HazardFolder, folder.path.name, len(what_is_left(folder))) as (step, ended):
            resume_runs(HazardRuns(Supervisor.default(), step), folder, ended)
        _tell_end(folder, as_json)
        return
    if not scenarios:
        raise LockbenchError("name a scenario, or all: `lockbench hazard list` shows them")
    mode = FULL if full else QUICK
    campaign_id = new_name(name, f"hazards-{mode}")
    wanted = [one.strip() for one in systems.split(",") if one.strip()]
    campaign = plan_hazards(campaign_id, choose_scenarios(scenarios), wanted, mode, repetitions, new_seed(seed))
    with shown_runs(HazardFolder, campaign_id, len(campaign.runs)) as (step, ended):
        folder = start(HazardRuns(Supervisor.default(), step), campaign, Store.default(), ended)
    _tell_end(folder, as_json)


_OF_A_PLAN = {
    "scenarios": "scenarios", "systems": "--system", "quick": "--quick", "full": "--full",
    "repetitions": "--repetitions", "seed": "--seed", "name": "--name",
}  # fmt: skip


def _tell_end(folder: HazardFolder, as_json: bool) -> None:
    """The findings of every run."""
    if as_json:
        runs = [run for run in folder.runs() if run.has("checked")]
        print_json(
            {
                "campaign": str(folder.path),
                "runs": {run.plan.run_id: run.checked.model_dump(mode="json") for run in runs},
            }
        )
        return
    from bench.analysis.hazards.evidence import HazardEvidence
    from bench.report.documents.hazards import hazard_terminal_blocks
    from bench.report.writers.terminal import terminal

    OUT.print(terminal(hazard_terminal_blocks(HazardEvidence.load(folder))))
    OUT.print(f"runs: {folder.path}", highlight=False, soft_wrap=True)
