"""The two documents that hold everything: the comparison's page, and the results of the reference campaign."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from bench.analysis.evidence import Evidence
from bench.report.claims_table import verdict_rows
from bench.report.documents.claims import claims_blocks
from bench.report.documents.comparison import comparison_blocks, comparison_document
from bench.report.documents.hazards import hazard_blocks, verdict_blocks
from bench.report.figures import hazard_drawings, load_drawings
from bench.report.limits import limits
from bench.report.model import Block, Bullets, Document, Figure, Heading, Paragraph, Picture
from bench.report.pack.sentences import summary_blocks
from bench.report.topics import apart

_NONE: Mapping[str, Sequence[Picture]] = MappingProxyType({})


def page_document(
    evidence: Evidence,
    drawings: Sequence[Picture],
    under_faults: Sequence[Picture] = (),
    of_topics: Mapping[str, Sequence[Picture]] = _NONE,
) -> Document:
    """The comparison with its figures and the verdicts; the other drawings are of a hazard campaign, and, by place, of
    what was measured apart.
    """
    inserted: list[Block] = [Figure(drawing) for drawing in drawings if drawing.runs]
    for topic, _ in apart(evidence):
        inserted += [Heading(topic.heading), Paragraph(f"Every number of this is in `{topic.place}.html`.")]
        inserted += [Figure(drawing) for drawing in of_topics.get(topic.place, ())]
    if evidence.hazards is not None:
        inserted += [Heading("Under faults"), *verdict_blocks(evidence.hazards)]
        inserted += [Figure(drawing) for drawing in under_faults if drawing.runs]
    if verdict_rows(evidence):
        inserted += [Heading("Claims and verdicts"), *claims_blocks(evidence)]
    return comparison_document(evidence, inserted, summary_blocks(evidence))


def results_document(evidence: Evidence, folder: str) -> Document:
    """Comparison, figures, verdicts and limits; `folder` is the path from the page to the figures' folder."""
    blocks: list[Block] = [*comparison_blocks(evidence), Heading("Figures")]
    blocks += [Figure(drawing, folder) for drawing in load_drawings(evidence)]
    for topic, _ in apart(evidence):
        blocks += [Heading(topic.heading), Paragraph(f"This has a page of its own: `{topic.page}`.")]
    if evidence.hazards is not None:
        under_faults = hazard_drawings(evidence.hazards, evidence.claims)
        blocks += [Heading("Under faults"), *hazard_blocks(evidence.hazards, 3, under_faults, folder)]
    blocks += [Heading("Claims and verdicts"), *claims_blocks(evidence)]
    blocks += [Heading("Limits"), Bullets(limits(evidence))]
    return Document("Results of the reference campaign", blocks)
