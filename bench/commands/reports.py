"""`lockbench report | compare`: tables, figures and the notebook from what was measured.

pandas, matplotlib and nbconvert are imported when they are needed: three seconds that no other command should wait for.
"""

from pathlib import Path

import typer

from bench.analysis.places import FIGURES, REFERENCE, find_campaign, project_root
from bench.commands.documents import print_document, refuse_both
from bench.commands.report_options import CAMPAIGN, HAZARDS, WITHOUT_HAZARDS, hazards_asked, no_backend_of_others
from bench.commands.terminal import OUT, steps
from bench.errors import LockbenchError
from bench.records.schema import LIVE


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(report)
    app.command()(notebooks)
    app.command()(compare)


def report(
    campaign: str | None = CAMPAIGN,
    reference: bool = typer.Option(False, "--reference", help="Render the committed figures/ from data/reference."),
    notebook: bool = typer.Option(True, help="Also execute the notebooks that it has something for (half a minute)."),
    hazards: str | None = HAZARDS,
    no_hazards: bool = WITHOUT_HAZARDS,
) -> None:
    """Render a campaign: the comparison here; table, figures and notebooks into the campaign's own folder.

    Example: lockbench report --campaign latest
    """
    no_backend_of_others()
    from bench.analysis.evidence import Evidence
    from bench.report.documents.comparison import terminal_blocks
    from bench.report.export import PAGE, write_evidence
    from bench.report.export_folder import add_to_export
    from bench.report.figures.live_session import write_live_session
    from bench.report.reference import render_reference
    from bench.report.writers.terminal import terminal

    if reference:
        if campaign is not None or hazards is not None or no_hazards:
            raise LockbenchError("--reference renders what is committed: leave out --campaign, --hazards, --no-hazards")
        for path in render_reference():
            OUT.print(str(path), highlight=False, soft_wrap=True)
        return
    folder = find_campaign(campaign)
    lab = hazards_asked(folder, hazards, no_hazards)
    if folder.path == project_root() / "data" / REFERENCE:
        with steps("reading the runs"):
            evidence = Evidence.load(folder, hazards=lab)
        OUT.print(terminal(terminal_blocks(evidence)))
        OUT.print(
            "data/reference is committed, and nothing is written into it: "
            "`lockbench export DIR --campaign reference` writes tables and figures",
            highlight=False,
            soft_wrap=True,
        )
        page = project_root() / FIGURES / PAGE
        OUT.print(f"open {page}" if page.exists() else f"`make figures` draws {page}", highlight=False, soft_wrap=True)
        return
    target = folder.path / "report"
    with steps("reading the runs") as show:
        evidence = Evidence.load(folder, hazards=lab)
        show("drawing tables and figures")
        write_evidence(evidence, target)
        if evidence.campaign.mode == LIVE:
            add_to_export(target, write_live_session(folder, target), [row.run_id for row in evidence.rows])
    # The table first: it is there already, and a notebook may still fail.
    OUT.print(terminal(terminal_blocks(evidence)))
    if notebook:
        with steps("executing the notebooks"):
            # Below nbformat lies a grammar that takes 1.6 s to build at each import.
            from bench.report.notebook import render_notebooks
            from bench.report.notebook_list import Needs, notebooks_for

            chosen = notebooks_for(evidence)
            written = render_notebooks(target, folder, hazards=lab, chosen=chosen)
            load = [row.run_id for row in evidence.rows]
            played = [run.run_id for run in evidence.hazards.runs] if evidence.hazards is not None else []
            for number, one in enumerate(chosen):
                runs = played if one.needs is Needs.HAZARDS else load
                add_to_export(target, written[2 * number : 2 * number + 2], runs)
    OUT.print(f"tables, figures{' and notebooks' if notebook else ''}: {target}", highlight=False, soft_wrap=True)
    OUT.print(f"open {target / PAGE}", highlight=False, soft_wrap=True)


def notebooks(
    chosen: list[str] = typer.Argument(None, metavar="[NAME]...", help="Files of notebooks/, without their ending."),
    into: Path | None = typer.Option(None, "--into", help="Write notebooks/rendered/ below this folder instead."),
) -> None:
    """Execute notebooks on the reference, and write what they show to notebooks/rendered/, as Markdown.

    The same data give the same bytes. For a campaign of your own: `lockbench report`.
    Examples: lockbench notebooks; lockbench notebooks ttl claims
    """
    from bench.report.notebook_list import NOTEBOOKS

    known = {one.name: one for one in NOTEBOOKS}
    if missing := [name for name in chosen or () if name not in known]:
        raise LockbenchError(f"no notebook {', '.join(missing)}: there are {', '.join(known)}")
    no_backend_of_others()
    with steps("executing the notebooks"):
        from bench.report.notebook import render_copies

        written = render_copies([known[name] for name in chosen or known], into=into)
    for path in written:
        OUT.print(str(path), highlight=False, soft_wrap=True)


def compare(
    a: str = typer.Argument(
        ...,
        help="A campaign under data/runs, a folder, `reference`, `latest`, or `history/NAME`: see `lockbench history`.",
    ),
    b: str = typer.Argument(..., help="Another one: does it lie within the intervals of the first?"),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown instead of tables for a terminal."),
    csv: bool = typer.Option(False, "--csv", help="Print one row per cell and column, with plain numbers."),
) -> None:
    """Put two campaigns side by side: what differs, and which numbers were reproduced.

    Examples: lockbench compare reference latest; lockbench compare monday tuesday --markdown > compared.md;
    lockbench compare history/0.1.0 reference
    """
    refuse_both(markdown, csv)
    with steps("reading the runs"):
        from bench.analysis.comparing import compare as put_together
        from bench.analysis.evidence import Evidence
        from bench.analysis.history import evidence_of, find_entry, verdict_changes, verdicts_of
        from bench.analysis.opened import open_campaign
        from bench.report.documents.compare import compare_document, compare_rows

        entries = [find_entry(name) for name in (a, b)]
        # Verdicts rest on hazards too; reading those takes seconds, and only an entry has verdicts to compare with.
        opened = open_campaign if any(entries) else lambda name: Evidence.load(find_campaign(name))
        sides = zip((a, b), entries, strict=True)
        one, other = (opened(name) if entry is None else evidence_of(entry) for name, entry in sides)
        started = {(side.campaign.campaign_id, side.campaign.created_at) for side in (one, other)}
        if len(started) == 1:  # a copy of a campaign is the campaign
            raise LockbenchError(f"{a} and {b} are one campaign: name another one to compare it with")
        found = put_together(one, other)
        changed = None
        if any(entries):
            judged = [
                verdicts_of(side) if entry is None else entry.verdicts
                for side, entry in zip((one, other), entries, strict=True)
            ]
            changed = verdict_changes(*judged)
    if not found.lines:
        raise LockbenchError(f"{a} and {b} have no cell in common: nothing can be compared")
    document = compare_document(found, one, other, changed)
    print_document(document, compare_rows(found), markdown=markdown, csv=csv)
