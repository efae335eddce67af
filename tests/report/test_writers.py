"""One document in every format: the same cells, nothing that breaks out of them, and the runs behind each."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.report import comparison
from bench.report.documents.claims import claims_document
from bench.report.documents.comparison import comparison_document, glance_blocks
from bench.report.documents.hazards import hazards_document
from bench.report.documents.results import page_document
from bench.report.model import (
    Block,
    Bullets,
    Column,
    Document,
    FactList,
    Fit,
    Heading,
    Look,
    Notes,
    Paragraph,
    Table,
    Text,
)
from bench.report.writers.html import html_fragment, html_page
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests.report import hazard_campaigns


@dataclass(frozen=True)
class Line:
    system: str
    words: str
    verdict: str


HOSTILE = "<b>a|b</b>"
LINES = (Line("redis", HOSTILE, "unsafe"), Line("redis", "2", "unsafe"), Line("etcd", "3", "unsafe"))
COLUMNS = (
    Column[Line]("System", lambda line: Text(line.system, measured=None, tags=("emulator",)), fit=Fit(once=True)),
    Column[Line]("Median", lambda line: Text(line.words, (1,), runs=("r-01", "r-02")), unit="ms", fit=Fit()),
    Column[Line]("Verdict", lambda line: Text(line.verdict, look=Look.FAILS, below="1 of 2"), fit=Fit(once=True)),
    Column[Line]("Runs", lambda line: "r-01, -02", small=True),
    Column[Line]("All", lambda line: f"median {line.words}", pages=False, fit=Fit()),
)
DOCUMENT = Document(
    "A | title <i>",
    (
        FactList([("Campaign", HOSTILE)]),
        Heading("Numbers", 2, HOSTILE),
        Paragraph("Of `rate` <i>alone</i>."),
        Table(COLUMNS, LINES),
        Table(COLUMNS, (), empty="No line."),
        Bullets([HOSTILE]),
        Notes([HOSTILE]),
    ),
)


def printed(blocks: Iterable[Block], width: int = 100) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(terminal(blocks))
    return captured.get()


def test_markdown_escapes_pipes_and_leaves_out_what_is_for_terminals() -> None:
    lines = markdown(DOCUMENT).splitlines()
    assert "| System | Median, ms | Verdict | Runs |" in lines
    assert "| redis | **\\<b>a\\|b\\</b>** [1] | **unsafe** (1 of 2) | r-01, -02 |" in lines
    assert "No line." in lines
    assert "- [1] \\<b>a\\|b\\</b>" in lines
    assert "Of `rate` \\<i>alone\\</i>." in lines
    assert "# A \\| title \\<i>" in lines


# What a user may call a cell: all that is printed, and most often what means something in Markdown or HTML.
_LABELS = st.text(
    st.one_of(
        st.sampled_from("<>|`*_[]()!&;\\#~$/-=:. ab1"),
        st.characters(exclude_categories=("C", "Zl", "Zp", "Zs")),
    ),
    min_size=1,
    max_size=30,
).map(lambda text: f"x{' '.join(text.split())}x")


@settings(max_examples=60, deadline=None)
@given(_LABELS)
@example("a<script>alert(1)</script>")
@example("`a|b`")
@example("a`b")
@example("![a](http://b)")
@example("a\\|b\\")
@example("__a__ *b* ~~c~~ &lt;")
def test_a_name_stays_as_it_is_in_markdown(label: str) -> None:
    named = (Column[str]("Workload", lambda row: row), Column[str](label, lambda row: Text(row, (1,), below=row)))
    blocks = (Heading(f"Of {label}."), Table(named, [label]), Bullets([f"Of {label}."]), Notes([f"Of {label}."]))
    text = markdown(Document("A", blocks), generated="")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inline = [token.children or [] for token in tokens if token.type == "inline"]
    kinds = {part.type for parts in inline for part in parts} | {token.type for token in tokens}
    assert not [kind for kind in kinds if kind.startswith(("html", "link", "image", "em_", "s_", "fence", "hr"))]
    _, heading, first, second, cell, strong, *said = ["".join(part.content for part in parts) for parts in inline]
    assert (first, second, cell, strong) == ("Workload", label, label, f"{label} ({label}) [1]")
    if "`" not in label:  # in running text they are marks, around a name of the bench's own
        assert (heading, *said) == (f"Of {label}.", f"Of {label}.", f"[1] Of {label}.")


def test_nothing_from_data_becomes_markup() -> None:
    page = html_page(DOCUMENT)
    for raw in ("<b>", "<i>"):
        assert raw not in page
    assert page.count("&lt;b&gt;a|b&lt;/b&gt;") == 5
    assert "Of <code>rate</code> &lt;i&gt;alone&lt;/i&gt;." in page


def test_what_breaks_out_of_an_attribute_does_not() -> None:
    hostile = '" onload="x'
    cell = Column[str]("a", lambda row: Text(row, hint=row, runs=(row,)), note=hostile)
    page = html_fragment([Table([Column[str]("", lambda row: row), cell], [hostile])])
    assert ' onload="' not in page.replace("&#34; onload=&#34;", "")


def test_a_page_names_the_runs_of_a_cell() -> None:
    named = [column for column in COLUMNS if not column.small]
    assert 'title="runs: r-01..02"' in html_fragment([Table(named, LINES)])
    assert "title=" not in html_fragment([Table(COLUMNS, LINES)]), "a column names them"


def test_a_terminal_says_a_heading_once_and_a_verdict_once_a_heading() -> None:
    text = printed([Table(COLUMNS, LINES)])
    assert text.count("redis") == 1
    assert text.count("unsafe") == 2, "once for redis, once for etcd"
    assert "r-01, -02" not in text
    assert "median 3" in text


def test_what_a_short_word_leaves_out_stands_below() -> None:
    column = Column[str]("State", lambda row: Text(row, short="void", aside=f"why: {row}"), fit=Fit(width=10))
    text = printed([Table([Column[str]("Row", lambda row: row[:1], fit=Fit(width=4)), column], ["abc", "def"])])
    assert "void [1]" in text
    assert "[2] why: def" in text
    narrow = printed([Table([Column[str]("Row", lambda row: row[:1], fit=Fit(width=4)), column], ["abc"])], 30)
    assert "State: void [1]" in narrow


def test_a_table_is_as_wide_as_the_terminal_where_its_words_need_that() -> None:
    columns = (Column[str]("Why", lambda row: row, fit=Fit()), Column[str]("n", lambda row: "1", fit=Fit(width=3)))
    table = Table(columns, ["word " * 40])

    def lengths(width: int) -> list[int]:
        return [len(line.rstrip()) for line in printed([table], width).splitlines() if "word" in line]

    assert 90 < max(lengths(100)) <= 100
    assert 130 < max(lengths(140)) <= 140
    assert len(lengths(400)) == 1
    assert max(map(len, map(str.rstrip, printed([table], 400).splitlines()))) < 220, "and no wider than its words"


def test_a_comparison_is_made_once_for_all_formats(evidence: Evidence, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison.build_comparison(evidence)
    monkeypatch.setattr(comparison, "properties", None)  # to make another one would call it
    markdown(comparison_document(evidence))
    html_page(page_document(evidence, ()))
    printed(glance_blocks(evidence))


def tables(document: Document) -> list[Table[object]]:
    return [block for block in document.blocks if isinstance(block, Table)]


def test_every_measured_cell_carries_its_runs(evidence: Evidence) -> None:
    known = {row.run_id for row in evidence.rows}
    checked = 0
    for document in (comparison_document(evidence), claims_document(evidence)):
        for table in tables(document):
            for row in table.rows:
                for column in table.columns:
                    text = column.text(row)
                    assert set(text.runs) <= known
                    if text.measured and any(letter.isdigit() for letter in text.words):
                        assert text.runs, (column.heading, text.words)
                        checked += 1
    assert checked > 50


def test_every_count_of_the_hazard_tables_carries_its_runs(tmp_path: Path) -> None:
    hazards = HazardEvidence.load(hazard_campaigns.whole(tmp_path))
    known, checked = {run.run_id for run in hazards.runs}, 0
    for table in tables(hazards_document(hazards)):
        for row in table.rows:
            for text in (column.text(row) for column in table.columns):
                assert set(text.runs) <= known
                assert text.runs or not text.measured, text
                checked += bool(text.runs)
    assert checked > 100


def test_markdown_and_page_have_the_same_columns(evidence: Evidence) -> None:
    text, page = markdown(comparison_document(evidence)), html_page(page_document(evidence, ()))
    for table in tables(comparison_document(evidence)):
        for column in table.page_columns:
            assert column.heading in text
            assert f">{column.heading}" in page.replace("&#39;", "'")
