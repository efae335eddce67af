"""A pack as a document: the question, each system in short, the table, three figures, verdicts, warnings, method and
limits; then the appendix."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.analysis.evidence import Evidence
from bench.report.claims_table import rows_about, tally
from bench.report.comparison import brief_method, build_comparison
from bench.report.documents.claims import short_claims_table
from bench.report.documents.comparison import appendix_blocks
from bench.report.documents.hazards import verdict_blocks
from bench.report.figures import (
    acquire_latency,
    crash_recovery,
    hand_off_by_strategy,
    hazard_map,
    hazard_window,
    wait_by_contenders,
    where_time_goes,
)
from bench.report.figures.drawing import Drawing
from bench.report.limits import limits
from bench.report.model import Block, Bullets, Document, FactList, Figure, Heading, Paragraph
from bench.report.pack.answer import answer_blocks
from bench.report.pack.pictures import InDocuments
from bench.report.pack.sentences import system_sentences, warnings
from bench.report.pack.tables import decision_tables, verdict_table
from bench.report.table_model import Property
from bench.report.writers.pdf import APPENDIX

FIGURES = 3
_AND = " or "
_DATE = len("2026-01-31")
_WORDS = (  # for a reader who knows none of ours; as in docs/glossary.md
    "TTL: the time for which a lock is held unless it is renewed. Fencing token: a number that rises with every grant, "
    "by which a resource refuses late writes. Fair queue: the wait of a first-come-first-served queue. A number with "
    "\u2265 or \u2264 shows a limit of what the words beside it name, not of the system."
)


@dataclass(frozen=True, slots=True)
class Pack:
    """What is handed over. `whole` is the evidence of all systems, by which claims are judged."""

    title: str
    question: str
    evidence: Evidence  # of the chosen systems
    whole: Evidence
    properties: Sequence[Property]
    drawings: Sequence[Drawing]


def default_title(evidence: Evidence) -> str:
    """The choice as a question."""
    return f"Which lock: {_choice(evidence)}?"


def _choice(evidence: Evidence) -> str:
    titles = [column.title for column in build_comparison(evidence).columns]
    return f"{', '.join(titles[:-1])}{_AND if len(titles) > 1 else ''}{titles[-1]}"


def default_question(evidence: Evidence) -> str:
    """What the pack answers, and from what."""
    campaign = evidence.campaign
    parts = "how long a lock takes, what waiting costs"
    faults = ", and which of them keeps a lock exclusive under which fault" if evidence.hazards is not None else ""
    return (
        f"Which of these serves our lock: {_choice(evidence)}? Measured were {parts}{faults}. Campaign: "
        f"{campaign.campaign_id}, started on {campaign.created_at[:_DATE]}."
    )


def three_figures(evidence: Evidence) -> Sequence[Drawing]:
    """Of latency, of waiting and of faults: from each the first that has something to show, else one of the others."""
    waiting, hazards = evidence.about_waiting, evidence.hazards
    of_lab: list[Callable[[], Drawing]] = []
    if hazards is not None:
        of_lab = [lambda: hazard_map(hazards), lambda: crash_recovery(hazards), lambda: hazard_window(hazards)]
    kinds: Sequence[list[Callable[[], Drawing]]] = (
        [lambda: acquire_latency(evidence)],
        [lambda: wait_by_contenders(waiting), lambda: hand_off_by_strategy(waiting)],
        of_lab,
    )
    found = [drawing for kind in kinds if (drawing := _first(kind)) is not None]
    spare = [draw for kind in kinds for draw in kind] + [lambda: where_time_goes(evidence)]
    while len(found) < FIGURES and spare:
        drawing = _first([spare.pop(0)])
        if drawing is not None and drawing.name not in {one.name for one in found}:
            found.append(drawing)
    return found


def _first(draws: Iterable[Callable[[], Drawing]]) -> Drawing | None:
    return next((drawing for drawing in (draw() for draw in draws) if drawing.runs), None)


def pack_document(pack: Pack) -> Document:
    """The page and its appendix."""
    return Document(pack.title, (*_page(pack), Heading(APPENDIX), *_appendix(pack)))


def _page(pack: Pack) -> Iterable[Block]:
    evidence = pack.evidence
    yield Heading("The question")
    yield Paragraph(pack.question)
    yield from answer_blocks(evidence)
    yield Heading("System by system")
    yield FactList([(title, words or "Not measured.") for title, words in system_sentences(evidence)])
    yield Paragraph(_WORDS)
    yield Heading("The table")
    yield Paragraph(build_comparison(evidence).twice)
    yield from decision_tables(evidence, pack.properties)
    yield Heading("Figures")
    for drawing in pack.drawings:
        yield Figure(InDocuments(drawing), "", dark=InDocuments(drawing, dark=True))
    yield from _verdicts(pack)
    found = warnings(evidence, pack.whole)
    yield Heading("What to watch out for")
    yield Bullets(found) if found else Paragraph("Nothing that these campaigns measured.")
    yield Heading("Method")
    yield Bullets(brief_method(evidence))
    yield Heading("Limits")
    yield Bullets(limits(evidence))


def _verdicts(pack: Pack) -> Iterable[Block]:
    yield Heading("Verdicts")
    table = verdict_table(pack.evidence)
    if table is None:
        yield Paragraph("No fault was played in this campaign: nothing is known of safety.")
    else:
        yield Paragraph("Faults by verdict; the appendix has each with its count, and says where few runs looked.")
        yield table
    yield Paragraph(f"Claims about these systems: {tally(rows_about(pack.whole, pack.evidence.chosen))}.")


def _appendix(pack: Pack) -> Iterable[Block]:
    """The first is what the page needs most: paper may end before the last."""
    for block in appendix_blocks(pack.evidence):
        yield Heading(block.words, 3, block.about) if isinstance(block, Heading) else block
    if pack.evidence.hazards is not None:
        yield Heading("Verdicts, fault by fault", 3)
        yield from verdict_blocks(pack.evidence.hazards)
    if rows := rows_about(pack.whole, pack.evidence.chosen):
        yield Heading("Claims and verdicts", 3)
        yield short_claims_table(rows)
