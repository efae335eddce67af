"""What the commands share that read a campaign: which one, and which hazard campaign beside it."""

import os

import typer

from bench.analysis.places import NO_HAZARDS, hazards_beside
from bench.errors import LockbenchError
from bench.records.store import CampaignFolder, HazardFolder

CAMPAIGN = typer.Option(
    None, "--campaign", "-c", help="A campaign under data/runs, a folder, or `reference`. Default: the latest."
)
HAZARDS = typer.Option(
    None,
    "--hazards",
    help="A hazard campaign under data/runs, a folder, or `reference`. Default: the latest, if there is one.",
)
WITHOUT_HAZARDS = typer.Option(False, "--no-hazards", help="Leave hazards out: cells about safety stay `not measured`.")


def no_backend_of_others() -> None:
    """Figures are drawn into files: a window system that MPLBACKEND names is not needed, and may not be there."""
    os.environ["MPLBACKEND"] = "agg"


def hazards_asked(folder: CampaignFolder, named: str | None, none: bool) -> HazardFolder | None:
    """The hazard campaign that the options name. Raises LockbenchError where they exclude each other."""
    if none and named is not None:
        raise LockbenchError("--hazards and --no-hazards exclude each other: choose one")
    return hazards_beside(folder, NO_HAZARDS if none else named)
