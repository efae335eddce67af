"""docs/recommend.md: how `lockbench recommend` answers, with worked examples that are looked up in the reference."""

from collections.abc import Iterable, Mapping

from bench.analysis.advice.advice import advise
from bench.analysis.advice.examples import examples
from bench.analysis.advice.rules import Question, Step, When, rules
from bench.analysis.evidence import Evidence
from bench.report.documents.recommend import recommend_blocks
from bench.report.model import Block, Bullets, Column, Document, Heading, Paragraph, Table

_INTRODUCTION = (
    "`lockbench recommend` asks what you have and need, or takes it as options (`lockbench recommend --help`). It "
    "answers from what was measured: whether a lock is needed, which system fits, by which runs, what to set, and what "
    "to write in the review. By default the evidence is the reference campaign; `--campaign latest` takes yours.",
    "All rules stand in one table, `bench/analysis/advice/rules.yaml`. A rule names a measurement; it holds no number. "
    "A system is ruled out by a step that it fails, and by one in which it was not measured. Where nothing fits, the "
    "answer says so and why.",
    "A latency budget is compared with the 99th percentile over loopback, and with the least that the sequential round "
    "trips of an acquire take at your round trip. What passes may still be too slow on your network: measure there.",
)


def recommend_page(evidence: Evidence) -> Document:
    """The page, of one campaign's evidence."""
    return Document("Which lock for this?", tuple(_blocks(evidence)))


def _blocks(evidence: Evidence) -> Iterable[Block]:
    yield from map(Paragraph, _INTRODUCTION)
    yield Heading("Questions")
    yield Table(_QUESTIONS, rules().questions)
    yield Heading("Steps")
    yield Table(_STEPS, rules().steps)
    yield Paragraph("Those that pass are ordered, by the first of these that applies:")
    yield Bullets([_when(one.when, one.says) for one in rules().rank])
    for example in examples():
        yield Heading(example.title)
        yield Paragraph(example.story)
        yield Paragraph(f"`{example.command}`")
        yield from recommend_blocks(advise(evidence, example.situation), 3)


def _when(conditions: When, says: str) -> str:
    words = _words(conditions)
    return f"{says} (where {words})" if words else says


def _words(conditions: When) -> str:
    return ", ".join(
        f"{name} is {wanted if isinstance(wanted, str) else ' or '.join(wanted)}" for name, wanted in conditions.items()
    )


_QUESTIONS: tuple[Column[Question], ...] = (
    Column("Option", lambda one: f"--{one.id}"),
    Column("Question", lambda one: one.ask),
    Column("Answers", lambda one: "; ".join(f"{name}: {words}" for name, words in one.answers.items())),
)
_STEPS: tuple[Column[Step], ...] = (
    Column("Step", lambda one: one.title),
    Column("Asked where", lambda one: _words(one.when) or "always"),
    Column("Who fails it is", lambda one: _EFFECTS[one.effect]),
)
_EFFECTS: Mapping[str, str] = {"excludes": "ruled out", "warns": "warned of", "informs": "none: it informs"}
