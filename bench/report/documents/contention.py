"""What waiting for a lock costs, as a page of its own: of campaigns that are about nothing else."""

from collections.abc import Sequence

from bench.analysis.evidence import Evidence
from bench.report.claims_table import verdict_rows
from bench.report.documents.claims import claims_table
from bench.report.documents.comparison import comparison_blocks
from bench.report.model import Block, Document, Figure, Heading, Picture

TITLE = "What waiting for a lock costs"


def contention_document(waiting: Evidence, drawings: Sequence[Picture], folder: str = "") -> Document:
    """Figures, verdicts and every cell; `folder` is the path from the page to the figures' folder."""
    inserted: list[Block] = [Heading("Figures"), *(Figure(drawing, folder) for drawing in drawings if drawing.runs)]
    if rows := verdict_rows(waiting):
        inserted += [Heading("Claims and verdicts"), claims_table(rows)]
    return Document(TITLE, comparison_blocks(waiting, inserted))
