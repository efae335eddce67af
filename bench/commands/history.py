"""`lockbench history`: the reference of each release, kept small, so that a new Redis or Python shows."""

import typer

from bench.commands.terminal import OUT, print_json, steps


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(history)


def history(
    keep: str | None = typer.Option(None, "--keep", help="Keep a campaign under this name, in data/history/NAME.json."),
    campaign: str | None = typer.Option(
        None,
        "--campaign",
        "-c",
        help="What --keep keeps: a campaign, or a folder. Default: the reference.",
    ),
    hazards: str | None = typer.Option(None, "--hazards", help="The hazard campaign beside it. Default: its own."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document instead of a table."),
) -> None:
    """List the references that were kept, with the versions that they were measured with; or keep one more.

    Examples: lockbench history; lockbench history --keep 0.2.0; lockbench compare history/0.1.0 reference
    """
    with steps("reading what was kept"):
        from bench.analysis.history import keep as keep_it
        from bench.analysis.history import kept
        from bench.analysis.opened import open_campaign
        from bench.analysis.places import REFERENCE
        from bench.errors import LockbenchError
        from bench.report.documents.history import history_blocks, history_rows
        from bench.report.writers.terminal import terminal

        if keep is None:
            if campaign is not None or hazards is not None:
                raise LockbenchError("--campaign and --hazards say what --keep keeps: give a name with --keep")
            entries = kept()
        else:
            path = keep_it(open_campaign(campaign or REFERENCE, hazards), keep)
    if keep is not None:
        OUT.print(f"kept: {path}, {path.stat().st_size / 1e3:.0f} kB", highlight=False, soft_wrap=True)
    elif as_json:
        print_json(history_rows(entries))
    else:
        OUT.print(terminal(history_blocks(entries)), highlight=False)
