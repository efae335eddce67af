"""What was measured apart, as a page of its own: of campaigns that are about nothing else."""

from collections.abc import Sequence

from bench.analysis.evidence import Evidence
from bench.report.claims_table import verdict_rows
from bench.report.documents.claims import claims_table
from bench.report.documents.comparison import comparison_blocks
from bench.report.model import Block, Document, Figure, Heading, Picture
from bench.report.topics import Topic


def topic_document(topic: Topic, evidence: Evidence, drawings: Sequence[Picture], folder: str = "") -> Document:
    """Figures, verdicts and every cell; `folder` is the path from the page to the figures' folder."""
    shown = [Figure(drawing, folder) for drawing in drawings if drawing.runs]
    inserted: list[Block] = [Heading("Figures"), *shown] if shown else []
    if topic.judged and (rows := verdict_rows(evidence)):
        inserted += [Heading("Claims and verdicts"), claims_table(rows)]
    return Document(topic.title, comparison_blocks(evidence, inserted))
