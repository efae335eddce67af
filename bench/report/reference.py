"""The committed results: figures/ and docs/results.md, rendered from data/reference and from nothing else."""

from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.analysis.places import project_root, reference_campaign
from bench.report.export import write_evidence
from bench.report.files import write_file
from bench.report.markdown import results_markdown

FIGURES = "figures"
RESULTS = Path("docs") / "results.md"


def render_reference(root: Path | None = None, into: Path | None = None) -> list[Path]:
    """Render the reference campaign into figures/ and docs/results.md below `into` (default: the project itself).

    Returns the files, sorted. Raises StoreError when there is no reference campaign.
    """
    root = root or project_root()
    into = into or root
    evidence = Evidence.load(reference_campaign(root), root)
    written = write_evidence(evidence, into / FIGURES)
    written.append(write_file(into / RESULTS, results_markdown(evidence, f"../{FIGURES}").encode("utf-8")))
    return sorted(written)
