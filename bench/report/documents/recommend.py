"""A recommendation as a document: is a lock needed, which one, by what evidence, what to set, what to write down."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.advice.advice import Advice, Candidate
from bench.analysis.advice.rules import Question, Step, rules
from bench.analysis.advice.situation import Finding
from bench.report import formats
from bench.report.jobs_table import crossing_words
from bench.report.model import Block, Bullets, Column, FactList, Fit, Heading, Look, Paragraph, Table, Text
from bench.report.run_ranges import run_ranges

_NOT_MEASURED = (
    "From how many clients on a lock pays was not measured in this campaign: `lockbench run jobs` does the same job "
    "with a lock and without one, for more and more clients."
)
_NO_SYSTEM = "No system here fits, because each of them fails a step or was not measured in it:"


@dataclass(frozen=True, slots=True)
class _Shown:
    """One step of one system."""

    candidate: Candidate
    step: Step
    finding: Finding


def recommend_blocks(advice: Advice, level: int = 2) -> Iterable[Block]:
    """The whole answer, with titles of this level."""
    yield Heading("What you have and need", level)
    yield FactList(list(_answers(advice)))
    yield Heading("Is a lock needed?", level)
    yield Bullets([*(one.says for one in advice.need), *_crossings(advice)])
    yield Heading("The choice", level)
    yield from _choice(advice)
    if advice.ranked:
        first = advice.ranked[0]
        yield Heading(f"The evidence for {names.title(first.system)}", level)
        yield Table(_STEPS, _steps(advice, [first]))
    if advice.excluded:
        yield Heading("Why not the others" if advice.ranked else "Why none of them", level)
        yield Table(
            _OTHERS, [shown for shown in _steps(advice, advice.excluded) if shown.step in shown.candidate.failed]
        )
    yield Heading("What to set", level)
    yield Bullets(list(_to_set(advice)))
    yield Heading("What to write in the review", level)
    yield Bullets(list(_review(advice)))


def _answers(advice: Advice) -> Iterable[tuple[str, str]]:
    situation = advice.situation
    for question in rules().questions:
        yield question.ask, _answer(question, advice)
    have = ", ".join(sorted(situation.runs)) or "none of the servers that were measured"
    yield "What runs already?", have
    for ask, value, unit in (
        ("Latency budget", situation.budget_ms, "ms at the 99th percentile"),
        ("Round trip between clients and servers", situation.round_trip_ms, "ms"),
        ("After a crash of the holder the next client may wait", situation.recover_within_s, "s"),
    ):
        yield ask, "not given" if value is None else f"{value:g} {unit}"


def _answer(question: Question, advice: Advice) -> str:
    return question.answers[advice.situation.answers[question.id]]


def _crossings(advice: Advice) -> Iterable[str]:
    if any(one.crossing for one in advice.need):
        yield from [crossing_words(one) for one in advice.crossings] or [_NOT_MEASURED]


def _choice(advice: Advice) -> Iterable[Block]:
    if not advice.ranked:
        yield Paragraph(_NO_SYSTEM)
        yield Bullets([f"{names.title(one.system)}: {_failed_steps(one)}." for one in advice.excluded])
        if advice.excluded:
            nearest = advice.excluded[0]
            count = formats.counted([len(nearest.failed)], "step")
            yield Paragraph(f"Nearest is {names.title(nearest.system)}, which fails or lacks {count}.")
        return
    order = "; then ".join(one.says for one in advice.rank)
    yield Paragraph(f"These passed every step. Their order: {order}.")
    yield Table(_RANKED, list(enumerate(advice.ranked, 1)))


def _failed_steps(one: Candidate) -> str:
    return "; ".join(step.title[0].lower() + step.title[1:] for step in one.failed)


def _failed(one: Candidate) -> str:
    return "; ".join(f"{step.title[0].lower()}{step.title[1:]}: {one.found[step.id].words}" for step in one.failed)


def _steps(advice: Advice, candidates: Sequence[Candidate]) -> list[_Shown]:
    return [_Shown(one, step, one.found[step.id]) for one in candidates for step in advice.steps]


def _to_set(advice: Advice) -> Iterable[str]:
    shown = (*advice.ranked, *advice.excluded)[:1]
    for one in shown:
        yield from (f"{names.title(one.system)}: {setting}." for setting in one.settings)
    for to_do, finding in advice.to_do:
        yield f"{to_do.says} Measured with {names.title(shown[0].system)}: {_sentence(finding)}"


def _review(advice: Advice) -> Iterable[str]:
    questions = {question.id: _answer(question, advice) for question in rules().questions}
    yield f"The lock protects {questions['protects']}. If two clients hold it at the same time, {questions['purpose']}."
    if not advice.ranked:
        yield "No lock that was measured is enough: make the write conditional or idempotent, or accept the harm."
        yield from (f"Accepted, if {names.title(one.system)} is used: {_failed(one)}." for one in advice.excluded[:1])
        return
    first = advice.ranked[0]
    passed = [step for step in advice.steps if first.found[step.id].passes and first.found[step.id].runs]
    yield f"We use {names.title(first.system)}."
    yield from (f"{step.title}: {_sentence(first.found[step.id])}" for step in passed)
    yield from (f"Accepted. {step.title}: {_sentence(first.found[step.id])}" for step in first.warned)
    if first.settings:
        yield f"Set: {'; '.join(first.settings)}."


def _sentence(finding: Finding) -> str:
    return f"{finding.words}{'' if finding.words.endswith('.') else '.'}"


def _rank_words(pair: tuple[int, Candidate], step: str) -> Text | str:
    finding = pair[1].found.get(step)
    return formats.NOTHING if finding is None else Text(finding.words, measured=bool(finding.runs), runs=finding.runs)


_RANKED: Sequence[Column[tuple[int, Candidate]]] = (
    Column("", lambda pair: f"{pair[0]}", fit=Fit(width=2)),
    Column("System", lambda pair: Text(names.title(pair[1].row), measured=None), fit=Fit(width=20)),
    Column("You run it", lambda pair: "yes" if pair[1].runs_already else "no", fit=Fit(width=7)),
    Column(
        "Warnings",
        lambda pair: "; ".join(step.title.lower() for step in pair[1].warned) or "none",
        fit=Fit(),
    ),
    Column("A free lock", lambda pair: _rank_words(pair, "latency"), fit=Fit()),
    Column("Waiting", lambda pair: _rank_words(pair, "waiting"), fit=Fit()),
)
_RESULTS = {True: ("passes", Look.HOLDS), False: ("fails", Look.FAILS), None: ("", None)}


def _result(shown: _Shown) -> Text:
    words, look = _RESULTS[shown.finding.passes]
    if shown.finding.passes is None and shown.step.effect != "informs":
        words, look = "not measured", Look.UNDECIDED
    if shown.finding.passes is False and shown.step.effect == "warns":
        words, look = "warns", Look.CONDITION
    return Text(words or formats.NOTHING, measured=None, look=look, runs=shown.finding.runs)


def show_commands(finding: Finding) -> str:
    """What shows the runs behind a finding, by `lockbench show`."""
    return "; ".join(f"lockbench show {system} {shlex.quote(what)}" for system, what in finding.shown_by)


def _runs(shown: _Shown) -> str:
    ranges = run_ranges(shown.finding.runs)
    return ", ".join(ranges) or formats.NOTHING


_STEPS: Sequence[Column[_Shown]] = (
    Column("Step", lambda shown: shown.step.title, fit=Fit(width=22)),
    Column("Result", _result, fit=Fit(width=12)),
    Column("Found", lambda shown: Text(shown.finding.words, measured=None, runs=shown.finding.runs), fit=Fit()),
    Column("Runs", _runs, small=True, fit=Fit()),
    Column("Shown by", lambda shown: show_commands(shown.finding) or formats.NOTHING, small=True),
)
_OTHERS: Sequence[Column[_Shown]] = (
    Column("System", lambda shown: names.title(shown.candidate.system), fit=Fit(width=16, once=True)),
    *_STEPS,
)
