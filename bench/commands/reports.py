"""`lockbench report | export`: tables, figures and the notebook from what was measured."""

from pathlib import Path

import typer

from bench.commands.terminal import OUT, steps
from bench.records.store import Store


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(report)
    app.command()(export)


_CAMPAIGN = typer.Option("latest", "--campaign", "-c", help="Which campaign under data/runs.")


def report(
    campaign: str = _CAMPAIGN,
    reference: bool = typer.Option(False, "--reference", help="Render figures/ from data/reference instead."),
    notebook: bool = typer.Option(True, help="Also execute the comparison notebook."),
) -> None:
    """Render a campaign: the comparison table here and as Markdown, CSV and HTML, the figures, the notebook.

    Example: lockbench report --campaign latest
    """
    raise NotImplementedError(campaign, reference, notebook)


def export(
    target: Path = typer.Argument(..., help="A folder; made if it does not exist."),
    campaign: str = _CAMPAIGN,
) -> None:
    """Write table and figures (SVG, PDF, PNG, Markdown, CSV, HTML) for a design review.

    Example: lockbench export review/ --campaign latest
    """
    raise NotImplementedError(target, campaign, OUT, steps, Store)
