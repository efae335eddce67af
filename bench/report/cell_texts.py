"""Words for single cells that more than one table shows."""

from bench.analysis import names
from bench.analysis.cells import Absent, Cell
from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.evidence import Evidence
from bench.report import formats
from bench.report.formats import NOTHING
from bench.report.model import Text
from bench.report.table_model import ABSENT, UNLIKE


def first_page(evidence: Evidence) -> str:
    """The title of the page whose comparison the glance repeats."""
    return ", ".join(dict.fromkeys(cell.source for cell in evidence.seed_table))


def claimed_number(evidence: Evidence, system: str, metric: str) -> str:
    """What the first page says; the other pages stand in the claims table and in the figure of claimed ranges."""
    page = {cell.source for cell in evidence.seed_table}
    asked = names.claimed_as(system)
    found = [
        claim
        for claim in evidence.claims
        if claim.source in page and claim.metric == metric and claim.system == asked and claim.has_range
    ]
    return "; ".join(formats.claimed_range(claim) for claim in found) or NOTHING


def claimed_amplification(evidence: Evidence) -> str:
    """What is claimed of every system alike."""
    found: list[Claim] = [
        claim for claim in evidence.claims if claim.metric == "contention_amplification" and claim.system == ALL_SYSTEMS
    ]
    return "; ".join(f"{formats.claimed_range(claim)}{formats.NO_BREAK}×" for claim in found) or NOTHING


def ms_text(cell: Cell, metric: str, marks: tuple[int, ...] = ()) -> Text:
    """A latency of one cell with its bounds."""
    value = cell.value(metric)
    words = formats.ms_value(value, binds=cell.bounds_of(metric))
    return Text(words, marks, measured=not isinstance(value, Absent), runs=cell.evidence)


def none_or_unlike(cells: tuple[Cell, ...]) -> Text:
    """What a table shows where there is no single cell: none at all, or several that were too unlike to pool."""
    return UNLIKE if cells else ABSENT
