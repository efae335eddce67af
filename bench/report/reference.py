"""The committed renderings: figures/, docs/results.md and docs/calibration.md from data/reference with its hazard
campaign, data/reference/hazards; a page in docs for each topic that was measured apart; docs/recommend.md with its
worked examples; docs/statistics.md from the code.
"""

from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.analysis.places import FIGURES, project_root, reference_campaign, reference_hazards
from bench.records.calibration import read_calibration
from bench.report.documents.calibration import calibration_document
from bench.report.documents.recommend_page import recommend_page
from bench.report.documents.results import results_document
from bench.report.documents.topic import topic_document
from bench.report.export import write_evidence
from bench.report.files import write_file
from bench.report.statistics_page import statistics_markdown
from bench.report.topics import apart
from bench.report.writers.markdown import markdown

__all__ = ["FIGURES", "RESULTS", "render_reference"]

RESULTS = Path("docs") / "results.md"
CALIBRATION = Path("docs") / "calibration.md"
CALIBRATION_RECORD = "calibration.json"  # beside the campaign, from `lockbench calibrate --save`
RECOMMEND = Path("docs") / "recommend.md"
STATISTICS = Path("docs") / "statistics.md"


def render_reference(root: Path | None = None, into: Path | None = None) -> list[Path]:
    """Render the reference campaign into figures/ and docs/ below `into` (default: the project itself), and beside them
    the page about statistics, which depends on no campaign; the calibration kept with the reference campaign, where
    there is one, into docs/calibration.md.

    Returns the files, sorted. Raises StoreError when there is no reference campaign.
    """
    root = root or project_root()
    into = into or root
    campaign = reference_campaign(root)
    evidence = Evidence.load(campaign, root, reference_hazards(root))
    written = write_evidence(evidence, into / FIGURES)
    written.append(write_file(into / RESULTS, markdown(results_document(evidence, f"../{FIGURES}")).encode("utf-8")))
    for topic, found in apart(evidence):
        document = topic_document(topic, found, topic.drawings(found), f"../{FIGURES}")
        written.append(write_file(into / topic.page, markdown(document).encode("utf-8")))
    page = markdown(recommend_page(evidence)).encode("utf-8")
    written.append(write_file(into / RECOMMEND, page))
    written.append(write_file(into / STATISTICS, statistics_markdown().encode("utf-8")))
    if (record := campaign.path / CALIBRATION_RECORD).is_file():
        text = markdown(calibration_document(read_calibration(record)), generated="")
        written.append(write_file(into / CALIBRATION, text.encode("utf-8")))
    return sorted(written)
