"""Tables and figures of a campaign as files, the same bytes every time, with a manifest of the runs behind each."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl

from bench.analysis.evidence import Evidence
from bench.records.store import CampaignFolder
from bench.report.figures import ALL, Drawing
from bench.report.figures.drawing import FORMATS
from bench.report.files import write_file
from bench.report.markdown import claims_markdown, comparison_markdown
from bench.report.page import comparison_page
from bench.report.tidy import claims_csv, comparison_csv, runs_csv

MANIFEST = "MANIFEST.json"


def export(campaign: CampaignFolder | Path, target: Path, root: Path | None = None) -> list[Path]:
    """Write comparison.{md,csv,html}, claims.{md,csv}, runs.csv, each figure as SVG, PDF and PNG, and MANIFEST.json.

    Makes `target` where it is missing; replaces what an earlier export left there; returns the files, sorted. `root` is
    the project's folder, for its claims (default: found from the current folder). Raises StoreError or ClaimsError for
    damaged input, ReportError where `target` cannot be written.
    """
    folder = campaign if isinstance(campaign, CampaignFolder) else CampaignFolder(campaign)
    return write_evidence(Evidence.load(folder, root), target)


def write_evidence(evidence: Evidence, target: Path) -> list[Path]:
    """The same for evidence that is loaded already."""
    drawings = [draw(evidence) for draw in ALL]
    files = {**_tables(evidence, drawings), **_figures(drawings)}
    manifest = _manifest(evidence, files)
    written = [write_file(target / name, content) for name, (content, _) in sorted(files.items())]
    # The manifest comes last: where it is, what it names is complete.
    written.append(write_file(target / MANIFEST, manifest))
    return sorted(written)


_Files = Mapping[str, tuple[bytes, tuple[str, ...]]]  # name -> content and the runs behind it


def _tables(evidence: Evidence, drawings: list[Drawing]) -> _Files:
    every = tuple(sorted(row.run_id for row in evidence.rows))
    judged = tuple(sorted({run_id for judgement in evidence.judgements for run_id in judgement.evidence}))
    texts = {
        "comparison.md": (comparison_markdown(evidence), every),
        "comparison.csv": (comparison_csv(evidence), every),
        "comparison.html": (comparison_page(evidence, drawings), every),
        "claims.md": (claims_markdown(evidence), judged),
        "claims.csv": (claims_csv(evidence), judged),
        "runs.csv": (runs_csv(evidence), every),
    }
    return {name: (text.encode("utf-8"), runs) for name, (text, runs) in texts.items()}


def _figures(drawings: list[Drawing]) -> _Files:
    return {
        f"{drawing.name}.{file_format}": (drawing.rendered(file_format), tuple(sorted(set(drawing.runs))))
        for drawing in drawings
        for file_format in FORMATS
    }


def _manifest(evidence: Evidence, files: _Files) -> bytes:
    manifest = {
        "campaign_id": evidence.campaign.campaign_id,
        "git_commit": evidence.campaign.git_commit,  # of the measurement; rendering leaves no trace of its own commit
        "lockbench_version": evidence.campaign.lockbench_version,
        "rendered_with": {"matplotlib": mpl.__version__},
        "files": [
            {"file": name, "sha256": hashlib.sha256(content).hexdigest(), "runs": list(runs)}
            for name, (content, runs) in sorted(files.items())
        ],
    }
    return (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode("utf-8")
