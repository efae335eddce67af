"""`lockbench show`: where a number comes from."""

import os

import typer

from bench.analysis.places import HAZARDS_VARIABLE, find_campaign, hazards_beside
from bench.commands.report_options import CAMPAIGN
from bench.commands.terminal import OUT, print_json, steps
from bench.records.store import HazardFolder


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(show)


def show(
    name: str = typer.Argument(..., help="A run, as tables and MANIFEST.json name it; or a system, with WORKLOAD."),
    workload: str | None = typer.Argument(
        None, help="A workload of that system, or a hazard scenario: shows all of its runs."
    ),
    campaign: str | None = CAMPAIGN,
    hazards: str | None = typer.Option(
        None, "--hazards", help="A hazard campaign to look in. Default: the latest, or of a named campaign its own."
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON document instead of tables."),
) -> None:
    """Show a number's whole ancestry: its runs, their checks and histograms, the servers and the machine.

    Examples: lockbench show redis uncontended; lockbench show gc-pause-redis-01 --campaign reference --json
    """
    with steps("reading the runs"):
        from bench.analysis.ancestry import Sources, tree
        from bench.analysis.evidence import Evidence
        from bench.report.documents.ancestry import ancestry_blocks
        from bench.report.writers.terminal import terminal

        folder = find_campaign(campaign)
        # Without a name for either, what was played last: nobody need have measured load before a hazard run is shown.
        latest = None if campaign or os.environ.get(HAZARDS_VARIABLE) else HazardFolder.latest
        lab = hazards_beside(folder, hazards or latest)
        sources = Sources(Evidence.load(folder, hazards=lab), folder, lab)
        found = [sources.of_run(name)] if workload is None else list(sources.of_cell(name, workload))
    if as_json:
        print_json([tree(one) for one in found] if workload is not None else tree(found[0]))
        return
    for one in found:
        OUT.print(terminal(ancestry_blocks(one)), highlight=False)
