"""Campaigns as a notebook opens them: by one name each. What is committed is read once in a process, since it stays."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.places import find_campaign, find_hazards, hazards_beside, is_committed
from bench.records.store import CampaignFolder, HazardFolder


def open_campaign(campaign: str | None = None, hazards: str | None = None) -> Evidence:
    """A campaign of load with what lies beside it: the hazards that belong to it, and what was measured apart.

    Each is named as for `lockbench report`: `latest`, `reference`, a campaign's name, a folder; None: what
    LOCKBENCH_CAMPAIGN and LOCKBENCH_HAZARDS say, else the latest, else the reference. Raises StoreError or ClaimsError.
    """
    folder = find_campaign(campaign)
    lab = hazards_beside(folder, hazards)
    evidence = _committed(folder.path) if is_committed(folder.path) else Evidence.load(folder)
    return replace(evidence, hazards=_hazards(lab)) if lab is not None else evidence


def open_hazards(hazards: str | None = None) -> HazardEvidence | None:
    """A hazard campaign, named likewise; None where none was played. Raises StoreError."""
    folder = find_hazards(hazards)
    return None if folder is None else _hazards(folder)


def _hazards(folder: HazardFolder) -> HazardEvidence:
    return _committed_hazards(folder.path) if is_committed(folder.path) else HazardEvidence.load(folder)


@cache
def _committed(path: Path) -> Evidence:
    return Evidence.load(CampaignFolder(path))


@cache
def _committed_hazards(path: Path) -> HazardEvidence:
    return HazardEvidence.load(HazardFolder(path))
