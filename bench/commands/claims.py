"""`lockbench claims`: what five pages say about locks, and what becomes of it."""

from typing import Any

import typer

from bench.commands.report_options import CAMPAIGN
from bench.commands.terminal import OUT, print_json, steps
from bench.errors import LockbenchError


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(claims)


def claims(
    by: str = typer.Option("page", "--by", help="How they are grouped: by `page` or by `system`."),
    campaign: str | None = CAMPAIGN,
    hazards: str | None = typer.Option(
        None, "--hazards", help="A hazard campaign under data/runs, a folder, or `reference`. Default: that beside it."
    ),
    check: bool = typer.Option(
        False,
        "--check",
        help="Of the reference: exit 1 if a claim has neither a verdict nor a reason, or a page says other verdicts.",
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON document instead of tables."),
) -> None:
    """List every claim with its verdict, what was measured, how many runs show it, and one sentence.

    Examples: lockbench claims; lockbench claims --by system --campaign reference; lockbench claims --check
    """
    if by not in ("page", "system"):
        raise LockbenchError(f"--by is page or system, not {by}")
    if check and (campaign is not None or hazards is not None or as_json):
        raise LockbenchError("--check is about the reference: leave out --campaign, --hazards and --json")
    with steps("reading the runs"):
        from bench.analysis.opened import open_campaign
        from bench.analysis.places import REFERENCE
        from bench.report.claims_list import as_documents, claim_lines, claims_by, count_words
        from bench.report.writers.terminal import terminal

        evidence = open_campaign(REFERENCE, REFERENCE) if check else open_campaign(campaign, hazards)
        lines = claim_lines(evidence)
    if check:
        _check(evidence, len({line.id for line in lines}))
        return
    if as_json:
        print_json(as_documents(lines))
        return
    OUT.print(terminal(tuple(claims_by(lines, by))), highlight=False)
    OUT.print(f"{evidence.campaign.campaign_id}: {count_words(lines)}", highlight=False, soft_wrap=True)


def _check(evidence: Any, claims_count: int) -> None:
    from bench.analysis.places import project_root
    from bench.report.claims_check import faults

    found = list(faults(evidence, project_root()))
    if found:
        raise LockbenchError("\n".join((f"{len(found)} faults among {claims_count} claims", *found)))
    OUT.print(
        f"{claims_count} claims: each has a verdict or the reason why it is not testable, and every page says the same",
        highlight=False,
        soft_wrap=True,
    )
