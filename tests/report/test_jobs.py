"""Lock or no lock: the table has every way and what went wrong, and the figure draws them all."""

import io

import numpy as np
import pytest
from rich.console import Console

from bench.analysis.cells import cells_of
from bench.analysis.evidence import Evidence
from bench.analysis.places import reference_campaign
from bench.report.figures import lock_or_no_lock
from bench.report.figures.drawing import Drawing
from bench.report.jobs_table import blocks_of
from bench.report.model import Document
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests.jobs.made_up import evidence, line, row, whole
from tests.report.test_figures import covering

WAYS = ("Redis, lock and fence", "Redlock, lock without a fence", "SELECT … FOR UPDATE", "Row version, again at once")

NEUTRAL = "Lock or no lock: the same job by every way"


@pytest.fixture(scope="module")
def drawn() -> Drawing:
    return lock_or_no_lock(evidence(whole()))


def test_every_way_is_in_the_table_with_its_lines_and_losses() -> None:
    text = markdown(Document("t", blocks_of(cells_of(whole()))))
    assert all(way in text for way in (*WAYS, "Idempotency key"))
    assert "again at once and SELECT … FOR UPDATE: crossing point at 8 contenders (2 runs)." in text
    assert "crossing point not seen up to 32 contenders (2 runs)." in text
    assert "0 of 3,200" in text


def test_a_crossing_point_of_some_runs_is_told_with_their_number() -> None:
    never, once = {2: 200.0, 4: 200.0, 8: 200.0}, {2: 110.0, 4: 90.0, 8: 70.0}
    rows = [one for n in range(1, 7) for one in line("version", once if n <= 3 else never, n, wait="try")]
    rows += [one for n in range(1, 7) for one in line("for-update", dict.fromkeys(never, 100.0), n)]
    text = markdown(Document("t", blocks_of(cells_of(rows))))
    assert "crossing point seen in 3 of 6 runs, at 4 contenders; in the others not up to 8." in text
    assert lock_or_no_lock(evidence(rows)).title == NEUTRAL


@pytest.mark.parametrize("wait", ["try", "block"])
def test_an_optimist_that_does_not_pause_is_said_to_begin_again_at_once(wait: str) -> None:
    rows = line("for-update", {2: 400.0, 8: 400.0}) + line("version", {2: 600.0, 8: 300.0}, wait=wait)
    rows += line("version", {2: 600.0, 8: 600.0}, wait="backoff-1ms-32ms-full")
    drawn = lock_or_no_lock(evidence(rows))
    (legend,) = drawn.figure.legends
    assert "Row version, again at once" in [text.get_text() for text in legend.get_texts()]
    assert drawn.title == "From 8 contenders on, FOR UPDATE does more jobs than optimism without pauses"


def test_the_caption_counts_the_harm_of_runs_that_are_not_drawn() -> None:
    rows = [row("for-update", n, 490.0) for n in (2, 8)] + [row("lock", 8, 300.0, system="redlock", lost=3)]
    rows += [row("unguarded", 8, 300.0, lost=5, compute_ms=20.0)]  # another job
    caption = lock_or_no_lock(evidence(rows)).caption
    assert "Each run, void ones too, asked the table afterwards: 3 of 1,200 jobs were overwritten" in caption


def test_limits_are_arrows_and_the_caption_says_what_binds() -> None:
    rows = [*line("for-update", {2: 400.0, 4: 420.0}), row("for-update", 8, 430.0, bounds=("generator",))]
    drawn = lock_or_no_lock(evidence(rows))
    rates, slow = drawn.figure.axes[:2]
    for axes, sign in ((rates, "$\u2191$"), (slow, "$\u2193$")):
        assert [list(np.asarray(one.get_xdata())) for one in axes.lines if one.get_marker() == sign] == [[8]]
    assert "↑ at least, ↓ at most: only a limit (generator-bound)." in drawn.caption
    assert "only a limit" not in lock_or_no_lock(evidence(rows[:2])).caption


def test_a_crossing_point_that_limits_hide_is_not_told() -> None:
    rows = [row("for-update", n, 490.0) for n in (2, 8)]
    rows += [row("version", n, 400.0, wait="try", bounds=("generator",)) for n in (2, 8)]
    text = markdown(Document("t", blocks_of(cells_of(rows))))
    assert "crossing point not known (1 run); with 2, 8 contenders the lesser number is only a limit." in text
    drawn = lock_or_no_lock(evidence(rows))
    assert drawn.title == NEUTRAL


def test_a_loss_is_in_the_table_although_its_run_is_void() -> None:
    text = markdown(Document("t", blocks_of(cells_of([row("unguarded", 4, 300.0, lost=7)]))))
    assert "7 overwritten" in text
    assert "void: jobs lost" in text


def test_every_writer_shows_the_section() -> None:
    blocks = blocks_of(cells_of(whole()))
    assert "Lock or no lock" in html_page(Document("t", blocks))
    console = Console(width=100, file=io.StringIO())
    console.print(terminal(blocks))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Lock or no lock" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_without_jobs_there_is_neither_section_nor_figure() -> None:
    reference = Evidence.load(reference_campaign())
    assert blocks_of(reference.cells) == ()
    assert lock_or_no_lock(reference).runs == ()


def test_the_figure_names_every_way_and_covers_no_words(drawn: Drawing) -> None:
    (legend,) = drawn.figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert all(way in names for way in (*WAYS, "Idempotency key"))
    assert covering(drawn) == []
    whole_lines = [[one for one in axes.lines if len(np.asarray(one.get_xdata())) == 4] for axes in drawn.figure.axes]
    assert list(map(len, whole_lines)) == [6, 6, 2, 1]
    assert len(drawn.runs) == len(whole())
    assert "none of 22,400 jobs" in drawn.caption


@pytest.mark.parametrize(
    ("paused", "title"),
    [
        (500.0, "From 8 contenders on, FOR UPDATE does more jobs than optimism without pauses"),
        (300.0, "From 8 contenders on, FOR UPDATE does more jobs than optimism"),
    ],
)
def test_the_title_says_what_was_found(paused: float, title: str) -> None:
    rates = {1: 480.0, 2: 480.0, 8: 480.0}
    rows = line("for-update", rates) + line("version", {1: 500.0, 2: 500.0, 8: 100.0}, wait="try")
    rows += line("version", {1: 500.0, 2: 500.0, 8: paused}, wait="backoff-1ms-32ms-full")
    assert title == lock_or_no_lock(evidence(rows)).title


@pytest.mark.parametrize(
    ("retrying", "title"),
    [
        ({"try": {2: 200.0, 8: 200.0}}, "Optimism kept up with FOR UPDATE, up to 8 contenders"),
        ({"try": {2: 90.0, 4: 80.0, 8: 101.0}}, NEUTRAL),
        (
            {"try": {2: 110.0, 8: 50.0}, "poll-5ms": {2: 110.0, 8: 90.0}, "poll-20ms": {2: 110.0, 8: 110.0}},
            "From 8 contenders on, FOR UPDATE does more jobs than optimism by 2 of 3 ways to retry",
        ),
        (
            {"try": {2: 110.0, 8: 110.0}, "poll-5ms": {2: 110.0, 8: 90.0}},
            "From 8 contenders on, FOR UPDATE does more jobs than optimism with pauses",
        ),
    ],
)
def test_the_title_says_no_more_than_what_was_found(retrying: dict[str, dict[int, float]], title: str) -> None:
    rows = line("for-update", {2: 100.0, 4: 100.0, 8: 100.0})
    rows += [one for wait, rates in retrying.items() for one in line("version", rates, wait=wait)]
    assert lock_or_no_lock(evidence(rows)).title == title
