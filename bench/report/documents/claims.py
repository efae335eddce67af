"""The verdicts on the claims as a document."""

from collections.abc import Sequence

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.report.claims_table import VerdictRow, tally, untested, verdict_rows
from bench.report.model import Block, Column, Document, Fit, Paragraph, Table, Text
from bench.report.topics import apart


def claims_document(evidence: Evidence) -> Document:
    """The verdicts as one page."""
    return Document("Claims and verdicts", claims_blocks(evidence))


def claims_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The verdicts that the campaign gave, and the claims that it says nothing about."""
    rows, missing = verdict_rows(evidence), untested(evidence)
    others: dict[str, Evidence | HazardEvidence] = {
        topic.heading.lower(): found for topic, found in apart(evidence) if topic.judged
    }
    if evidence.hazards is not None:
        others["hazard campaign"] = evidence.hazards
    beside = "".join(f", {kind} {one.campaign.campaign_id}" for kind, one in others.items())
    blocks: tuple[Block, ...] = (
        Paragraph(
            f"Campaign {evidence.campaign.campaign_id}{beside}. Latencies are p50 to p99 of an uncontended acquire; "
            f"rates are pairs of acquire and release. Verdicts: {tally(rows)}."
        ),
        claims_table(rows),
    )
    if not missing:
        return blocks
    rest = Paragraph(f"This campaign does not test these, which stay `not measured`: {', '.join(missing)}.")
    return (*blocks, rest)


def claims_table(rows: Sequence[VerdictRow]) -> Table[VerdictRow]:
    """One line a claim and row of the comparison."""
    return Table(_COLUMNS, rows, empty="No claim was tested.")


def short_claims_table(rows: Sequence[VerdictRow]) -> Table[VerdictRow]:
    """The same in the width of a sheet of paper: without the sources, the reasons and the runs."""
    shown = [column for column in _COLUMNS if not column.small and column.header != _WHY]
    return Table(shown, rows, empty="No claim about these systems was tested.")


_WHY = "Why"
_COLUMNS: Sequence[Column[VerdictRow]] = (
    Column("Claim", lambda row: row.id, fit=Fit(width=6)),
    Column("Source", lambda row: row.source, small=True),
    Column("System", lambda row: row.system, fit=Fit(width=19)),
    Column("Claimed", lambda row: row.claimed, fit=Fit(width=14)),
    Column("Measured", lambda row: Text(row.measured, runs=row.runs), strong=False, fit=Fit(width=16)),
    Column("Verdict", lambda row: Text(row.shown, look=row.look, runs=row.runs), fit=Fit(width=14)),
    Column(_WHY, lambda row: row.why, fit=Fit(width=26)),
    Column("Runs", lambda row: row.evidence, small=True),
)
