"""Where exported files come from: the campaigns behind them, their runs, and what they were rendered with."""

from collections.abc import Mapping, Sequence

import matplotlib as mpl

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.runs import RunRow


def campaigns_of(evidence: Evidence) -> Mapping[str, tuple[str, ...]]:
    """The runs of each campaign, by its kind."""
    kinds: dict[str, Sequence[RunRow | HazardRun]] = {"load": evidence.rows}
    kinds |= {topic: found.rows for topic, found in evidence.apart.items()}
    kinds["hazards"] = evidence.hazards.runs if evidence.hazards is not None else ()
    return {kind: tuple(run.run_id for run in runs) for kind, runs in kinds.items()}


def provenance_of(evidence: Evidence) -> dict[str, object]:
    """As a manifest says it."""
    others: dict[str, Evidence | HazardEvidence] = dict(evidence.apart)
    if evidence.hazards is not None:
        others["hazards"] = evidence.hazards
    beside = {kind: one.campaign for kind, one in others.items()}
    return {
        "campaign_id": evidence.campaign.campaign_id,
        "git_commit": evidence.campaign.git_commit,  # of the measurement; rendering leaves no trace of its own commit
        "lockbench_version": evidence.campaign.lockbench_version,
        **{kind: {"campaign_id": one.campaign_id, "git_commit": one.git_commit} for kind, one in beside.items()},
        "rendered_with": {"matplotlib": mpl.__version__},
    }
