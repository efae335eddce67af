"""Tables on terminals of every width: each system and each value is there, and no line is wider than the terminal."""

from collections.abc import Iterable

import pytest
from rich.console import Console, RenderableType

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.records.store import HazardFolder
from bench.report.claims_table import verdict_rows
from bench.report.comparison import build_comparison
from bench.report.documents.claims import claims_blocks
from bench.report.documents.comparison import terminal_blocks
from bench.report.documents.hazards import hazard_terminal_blocks
from bench.report.fitting import WIDTH
from bench.report.hazard_rows import scenario_tables
from bench.report.hazard_verdicts import count_words, matrices
from bench.report.writers.terminal import terminal
from tests.report import hazard_campaigns

WIDTHS = (20, 40, 60, 80, 99, 100, 120, 200)


@pytest.fixture(scope="module")
def hazards(tmp_path_factory: pytest.TempPathFactory) -> HazardEvidence:
    folder: HazardFolder = hazard_campaigns.whole(tmp_path_factory.mktemp("hazards"))
    return HazardEvidence.load(folder)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_comparison_is_whole_at_every_width(evidence: Evidence, width: int) -> None:
    found = printed(terminal(terminal_blocks(evidence)), width)
    comparison = build_comparison(evidence)
    for column in comparison.columns:
        times = found.count(squeezed(column.title))
        assert times >= (1 if width >= WIDTH else len(comparison.properties)), column.title
    assert_all(found, width, (row.title for row in comparison.rows))
    for one in comparison.properties:
        assert_all(found, width, (one.title, one.detail))
        for pair in one.pairs.values():
            assert_all(found, width, (pair.claimed, pair.measured.words))
    for context in comparison.contexts:
        assert_all(found, width, (context.title, *context.texts.values()))
    for row in comparison.rows:
        assert_all(found, width, (row.acquire_ms_p50.words, row.acquire_ms_p99.words, row.throughput_pairs_per_s.words))
    assert_all(found, width, (*comparison.footnotes, *comparison.method))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_claims_are_whole_at_every_width(evidence: Evidence, width: int) -> None:
    found = printed(terminal(claims_blocks(evidence)), width)
    for row in verdict_rows(evidence):
        assert_all(found, width, (row.id, row.system, row.claimed, row.measured, row.shown, row.why))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_hazards_are_whole_at_every_width(hazards: HazardEvidence, width: int) -> None:
    found = printed(terminal(hazard_terminal_blocks(hazards)), width)
    for table in scenario_tables(hazards):
        assert_all(found, width, (row.title for row in table.rows))
    for block in matrices(hazards):
        assert_all(found, width, (line.words for line in block.lines))
        for system in block.systems:
            assert found.count(squeezed(names.title(system))) >= 1
        assert_all(found, width, filter(None, (count_words(one) for one in block.cells.values())))


def printed(renderable: RenderableType, width: int) -> str:
    """What the terminal shows, without white space; no line is wider than it."""
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable)
    lines = captured.get().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= width
    return squeezed("".join(lines))


def squeezed(words: str) -> str:
    return "".join(words.split())


def assert_all(found: str, width: int, texts: Iterable[str]) -> None:
    """Each text stands there; in a table, where other columns stand between a text's lines, each of its words does."""
    for text in texts:
        missing = [text] if squeezed(text) not in found else []
        if width >= WIDTH:
            missing = [word for word in text.split() if len(word) <= 9 and word not in found]
        assert missing == []
