"""Footnotes: one a cause, with all systems that it concerns, short, and with something to do."""

import itertools

import pytest

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.notes import CAUSE_WORDS, CHECKS, OUTCOMES, SMALL_SAMPLE, STRANGERS_OUTCOMES, check_cause
from bench.analysis.places import project_root, reference_campaign, reference_hazards
from bench.report.comparison import build_comparison
from bench.report.documents.comparison import comparison_document
from bench.report.documents.results import page_document
from bench.report.table_model import NOTE_WORDS, Footnotes
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from bench.systems.registry import SYSTEMS

CAUSES = (*(cause for _, cause in CHECKS.values()), OUTCOMES, STRANGERS_OUTCOMES, SMALL_SAMPLE)


@pytest.fixture(scope="module")
def reference() -> Evidence:
    return Evidence.load(reference_campaign(), hazards=reference_hazards())


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_is_short_and_says_what_to_do(cause: str) -> None:
    assert len(cause.split()) <= CAUSE_WORDS + 3
    assert ";" in cause, "after it: what to do"
    assert "_" not in cause


@pytest.mark.parametrize("cause", CAUSES)
def test_a_note_has_at_most_so_many_words_however_many_systems_it_concerns(cause: str) -> None:
    counts = range(1, len(SYSTEMS) + 1)
    for chosen in (one for count in counts for one in itertools.islice(itertools.combinations(SYSTEMS, count), 40)):
        notes = Footnotes(SYSTEMS)
        assert {notes.number(cause, system) for system in chosen} == {1}, "one cause is one note"
        (text,) = notes.texts
        assert len(text.split()) <= NOTE_WORDS, text
        assert text.startswith(cause)
        if len(chosen) == 1:
            assert names.title(chosen[0]) in text


def test_every_cause_has_a_number_of_its_own_in_the_order_of_reading() -> None:
    notes = Footnotes(SYSTEMS)
    assert [notes.number(cause, "redis") for cause in CAUSES] == [
        list(dict.fromkeys(CAUSES)).index(cause) + 1 for cause in CAUSES
    ]


def test_a_message_that_is_too_long_is_cut_and_a_check_that_is_no_more_is_told() -> None:
    notes = Footnotes(SYSTEMS)
    notes.number(check_cause("some_old_check", "word " * 40 + "end"), "redis")
    assert len(notes.texts[0].split()) <= NOTE_WORDS
    assert check_cause("some_old_check", "it was so") == "it was so"


PLAIN_WORDS = ("errors", "arrivals", "unsent", "aborted", "contention", "overlap", "knee", "jobs")  # as well as names


def test_no_page_shows_the_name_of_a_check(reference: Evidence) -> None:
    comparison = build_comparison(reference)
    assert len(comparison.footnotes) <= 12
    for text in (
        *comparison.footnotes,
        markdown(comparison_document(reference)),
        html_page(page_document(reference, [])),
    ):
        for name in CHECKS:
            assert name not in text or name in PLAIN_WORDS
    assert max(len(note.split()) for note in comparison.footnotes) <= NOTE_WORDS
    for note in comparison.footnotes:
        assert comparison.footnotes.count(note) == 1


def test_every_check_has_its_words() -> None:
    source = "".join(
        (project_root() / "bench" / "analysis" / name).read_text()
        for name in (
            "selfchecks.py",
            "load_checks.py",
            "processor_checks.py",
            "live_checks.py",
            "network/checks.py",
        )
    )
    used = {name for name in CHECKS if f'"{name}",' in source}
    assert used == set(CHECKS)
    made = sum(source.count(f"return {one}(") for one in ("check_of", "_delay", "_lines"))
    assert made - 2 == len(CHECKS), "those of delay lines are made by two functions for both kinds of line"
