"""Markdown, HTML and terminal: the same content, each readable in its place."""

import re
from html import escape
from html.parser import HTMLParser

import pytest
from rich.console import Console

from bench.analysis.evidence import Evidence
from bench.report import show
from bench.report.comparison import build_comparison
from bench.report.documents.claims import claims_blocks, claims_document
from bench.report.documents.comparison import comparison_document, terminal_blocks
from bench.report.documents.results import page_document, results_document
from bench.report.figures import ALL
from bench.report.fitting import WIDTH
from bench.report.model import FactList, Heading
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal

VOID_ELEMENTS = {"meta", "img", "br", "hr", "link", "input"}


class Outline(HTMLParser):
    """Elements that were opened, links to anywhere else, ids, and whether every element was closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.foreign: list[str] = []
        self.ids: list[str] = []
        self.anchors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href"):
                if (value or "").startswith("#"):
                    self.anchors.append((value or "")[1:])
                elif not (value or "").startswith("data:"):
                    self.foreign.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(params=["evidence", "barren"])
def either(request: pytest.FixtureRequest) -> Evidence:
    """A whole campaign, and one in which nothing was measured."""
    found: Evidence = request.getfixturevalue(request.param)
    return found


def printed(renderable: object, width: int) -> list[str]:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable)
    return captured.get().splitlines()


def test_the_terminal_tables_fit_and_cut_nothing(either: Evidence) -> None:
    for renderable in (terminal(terminal_blocks(either)), terminal(claims_blocks(either))):
        lines = printed(renderable, WIDTH)
        assert max(len(one) for one in lines) <= 100
        assert "…" not in "".join(lines)


def test_the_terminal_shows_all_systems_and_all_notes(evidence: Evidence) -> None:
    text = " ".join(" ".join(printed(terminal(terminal_blocks(evidence)), WIDTH)).split())
    comparison = build_comparison(evidence)
    for note in comparison.footnotes:
        assert " ".join(note.split()) in text
    for word in ("Redis", "Redlock", "ZooKeeper", "etcd", "Postgres", "DynamoDB", "emulator", "not measured"):
        assert word in text
    assert "claimed" in text, "told without colour too"


def test_markdown_tables_are_whole(either: Evidence) -> None:
    for text in (
        markdown(comparison_document(either)),
        markdown(claims_document(either)),
        markdown(results_document(either, "../figures")),
    ):
        tables: list[list[int]] = [[]]
        for one in text.splitlines():
            if one.startswith("|"):
                tables[-1].append(len(re.findall(r"(?<!\\)\|", one)))
            elif tables[-1]:
                tables.append([])
        assert all(len(set(table)) == 1 for table in tables if table)
        assert "nan" not in text.lower().replace("dynamo", "").split()


def test_markdown_has_the_claim_beside_the_measurement(evidence: Evidence) -> None:
    lines = markdown(comparison_document(evidence)).splitlines()
    header = next(one for one in lines if one.startswith("| System | Claimed, ms"))
    assert header.split(" | ")[1:3] == ["Claimed, ms", "p50, ms"]
    assert next(one for one in lines if one.startswith("| Redis | 0.5–2 | **0.0"))


def test_the_page_needs_nothing_else_and_is_well_formed(either: Evidence) -> None:
    text = html_page(page_document(either, [draw(either) for draw in ALL]))
    outline = Outline()
    outline.feed(text)
    assert not outline.open
    assert not outline.foreign
    assert "script" not in outline.seen
    assert set(outline.anchors) <= set(outline.ids)
    assert len(outline.ids) == len(set(outline.ids))
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert "@import" not in text
    assert "url(" not in text


def test_a_long_page_has_contents_and_sections_that_open(either: Evidence) -> None:
    document = page_document(either, [draw(either) for draw in ALL])
    text = html_page(document, ("Summary",))
    outline = Outline()
    outline.feed(text)
    assert not outline.open
    assert set(outline.anchors) <= set(outline.ids)
    titles = [block.words for block in document.blocks if isinstance(block, Heading) and block.level == 2]
    assert re.findall(r'<li><a href="#section-\d+">([^<]*)</a></li>', text) == [escape(title) for title in titles]
    assert text.count("<details") == len(titles)
    assert text.count("<details open>") == titles.count("Summary")


def test_the_page_begins_with_a_sentence_for_each_system(evidence: Evidence) -> None:
    first, sentences, *_ = page_document(evidence, []).blocks
    assert first == Heading("Summary")
    assert isinstance(sentences, FactList)
    words = {name.words: value for name, value in sentences.texts}
    assert set(words) >= {"Redis", "etcd"}
    assert re.search(r"A free lock takes 0\.0\d", words["Redis"]), "the number is that of the table"


def test_what_a_server_said_cannot_become_markup(barren: Evidence) -> None:
    text = html_page(page_document(barren, []))
    assert "<b>port</b>" not in text
    assert "<i>servers" not in text
    assert "&lt;b&gt;port&lt;/b&gt;" in text
    assert "port\\</b> 1 \\| is taken" in markdown(comparison_document(barren))


def test_notebook_tables_show_as_html_and_as_text(evidence: Evidence) -> None:
    for one in (show.comparison(evidence), show.claims(evidence), show.limits(evidence), show.settings(evidence)):
        html = one._repr_html_()
        assert html.startswith("<style>")
        assert 'class="lockbench"' in html
        assert repr(one).strip()
    assert next(iter(show.runs(evidence).columns)) == "run_id"
    assert len(show.runs(evidence)) == len(evidence.rows)
