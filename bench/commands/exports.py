"""`lockbench export DIR | export pack`: everything of a campaign as files, or what it says of chosen systems."""

from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from bench.analysis.places import find_campaign
from bench.commands.report_options import CAMPAIGN, HAZARDS, WITHOUT_HAZARDS, hazards_asked, no_backend_of_others
from bench.commands.terminal import OUT, steps

_FOLDER = "folder"


class _FolderUnlessNamed(TyperGroup):
    """`export DIR` is `export folder DIR`: only `pack` and --help are words of the group itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the subcommand that is meant where none is named."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [_FOLDER, *args]
        return super().parse_args(ctx, args)


_HELP = """Write what was measured as files for a design review: `export DIR` everything, `export pack` one page.

Examples: lockbench export review/ --campaign latest; lockbench export pack --system redis --system etcd --out review/
"""


def register(app: typer.Typer) -> None:
    """Add the group to the app."""
    group = typer.Typer(cls=_FolderUnlessNamed, no_args_is_help=True, help=_HELP)
    group.command(_FOLDER)(export)
    group.command("pack")(pack)
    app.add_typer(group, name="export")


def export(
    target: Path = typer.Argument(..., help="A folder; made if it does not exist."),
    campaign: str | None = CAMPAIGN,
    hazards: str | None = HAZARDS,
    no_hazards: bool = WITHOUT_HAZARDS,
) -> None:
    """Write every table and figure (SVG, PDF, PNG, Markdown, CSV, HTML); the word `folder` may be left out.

    Example: lockbench export review/ --campaign latest
    """
    folder = find_campaign(campaign)
    no_backend_of_others()
    with steps("drawing tables and figures"):
        from bench.report.export import export as write_files

        written = write_files(folder, target, hazards=hazards_asked(folder, hazards, no_hazards))
    OUT.print(f"{len(written)} files in {target}", highlight=False, soft_wrap=True)


def pack(
    out: Path = typer.Option(..., "--out", "-o", help="A folder; made if it does not exist."),
    system: list[str] = typer.Option(..., "--system", "-s", help="A system; give the option once for each."),
    row: list[str] = typer.Option(
        [], "--row", help="A row of the table, such as acquire_latency or pause_safety. Default: all."
    ),
    title: str = typer.Option("", "--title", help="Default: the choice between the systems, as a question."),
    question: str = typer.Option("", "--question", help="What the pack answers. Default: made from the systems."),
    transparent: bool = typer.Option(False, "--transparent", help="PNG figures without a background, for slides."),
    campaign: str | None = CAMPAIGN,
    hazards: str | None = HAZARDS,
    no_hazards: bool = WITHOUT_HAZARDS,
) -> None:
    """Write one page about chosen systems: HTML, PDF (at most six pages), Markdown, LaTeX, CSV, three figures.

    A folder that is called pack is written by `lockbench export ./pack`.

    Example: lockbench export pack -s redis -s etcd --title "Which lock for orders?" --out review/ --campaign reference
    """
    folder = find_campaign(campaign)
    no_backend_of_others()
    with steps("drawing tables and figures"):
        from bench.report.pack.writing import PAGE, export_pack

        written = export_pack(
            folder,
            out,
            system,
            rows=row,
            title=title,
            question=question,
            transparent=transparent,
            hazards=hazards_asked(folder, hazards, no_hazards),
        )
    OUT.print(f"{len(written)} files in {out}: open {out / PAGE}", highlight=False, soft_wrap=True)
