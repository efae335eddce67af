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


@pytest.fixture(scope="module")
def drawn() -> Drawing:
    return lock_or_no_lock(evidence(whole()))


def test_every_way_is_in_the_table_with_its_lines_and_losses() -> None:
    text = markdown(Document("t", blocks_of(cells_of(whole()))))
    assert all(way in text for way in (*WAYS, "Idempotency key"))
    assert "again at once and SELECT … FOR UPDATE: crossing point at 8 contenders (2 runs)." in text
    assert "crossing point not seen up to 32 contenders (2 runs)." in text
    assert "0 of 3,200" in text


def test_a_crossing_point_that_limits_hide_is_not_told() -> None:
    rows = [row("for-update", n, 490.0) for n in (2, 8)]
    rows += [row("version", n, 400.0, wait="try", bounds=("generator",)) for n in (2, 8)]
    text = markdown(Document("t", blocks_of(cells_of(rows))))
    assert "crossing point not known: with 8 contenders the lesser number is only a limit (1 run)." in text
    drawn = lock_or_no_lock(evidence(rows))
    assert drawn.title == "Lock or no lock: the same job by every way"


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
