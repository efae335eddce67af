"""What users read is plain English: words that we do not use, and what to write instead (see docs/glossary.md)."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from bench.analysis.evidence import Evidence
from bench.analysis.places import reference_campaign, reference_hazards
from bench.cli import app
from bench.report.documents.hazards import hazards_document
from bench.report.documents.results import page_document
from bench.report.model import Document
from bench.report.table_model import NOTE_WORDS
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown

ROOT = Path(__file__).parents[2]
INSTEAD = {
    r"told(?! apart)": "reported, notified, answered, printed, received",
    r"told apart": "distinguished; two numbers are indistinguishable",
    r"put down to": "attributed to",
    r"calls at once": "concurrent calls",
    r"of the load itself": "load details",
    r"nothing to play": "no selected scenario supports it",
    r"(is|are|to be) held against": "compared with",
    r"go(es)? on with": "resume, continue with",
    r"was not seen": "was never observed",
    r"(at|of) one time\b(?! zone)": "at the same time",
    r"unlike (runs|numbers|code|clients)": "different",
    r"noughts?": "zero",
    r"anew": "again",
    r"is to be had": "can be acquired",
    r"by a hair": "barely",
}
FORBIDDEN = re.compile("|".join(rf"\b(?:{words})\b" for words in INSTEAD), re.IGNORECASE)
OF_OLD_RECORDS = {"bench/analysis/groups.py": "not told"}  # read, and never shown
PAGES = ("*.md", "docs/*.md", "figures/*.md", "bench/**/README.md")


def found_in(text: str) -> list[str]:
    return [text[max(0, match.start() - 40) : match.end() + 40] for match in FORBIDDEN.finditer(text)]


@pytest.mark.parametrize("text", ["a holder was told late", "numbers that are not told apart", "it is held against it"])
def test_a_word_is_found(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize("page", sorted({path for pattern in PAGES for path in ROOT.glob(pattern)}), ids=str)
def test_pages(page: Path) -> None:
    assert not found_in(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.name)
def test_notebooks(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not found_in("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"))


@pytest.mark.parametrize("scenario", sorted(ROOT.glob("bench/hazards/scenarios/*.yaml")), ids=lambda path: path.stem)
def test_scenarios(scenario: Path) -> None:
    of = yaml.safe_load(scenario.read_text(encoding="utf-8"))
    assert not found_in("\n".join((of["title"], of["question"], str(of["meaning"]))))


@pytest.mark.parametrize("module", sorted(ROOT.glob("bench/**/*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_in_code(module: Path) -> None:
    """Messages, captions, headings: every literal that has a space in it and is no docstring."""
    passed = OF_OLD_RECORDS.get(str(module.relative_to(ROOT)))
    lines = [line for line in literals(module.read_text(encoding="utf-8")) if line != passed]
    assert not [words for line in lines for words in found_in(line)]


@pytest.mark.parametrize("module", sorted(ROOT.glob("bench/**/*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_names_in_code(module: Path) -> None:
    """A variable is called by what it holds: a report, an answer, facts, words, counts."""
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    assert not [node.lineno for node in nodes if "told" in (getattr(node, "id", ""), getattr(node, "arg", ""))]


def literals(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
            and " " in node.value
        ):
            yield node.value


# A percentage stands apart from its number, in print and on a screen.
CLOSE = re.compile(r"(?<![\w.%$-])\d[\d.,]*%(?!\w)")
STYLE = re.compile(r"<(style|script|svg).*?</\1>", re.DOTALL)
OF_LOCUST = "bench/load/precision.py"  # the columns of Locust's own table


@pytest.mark.parametrize(
    ("text", "close"), [("the 95% interval", True), ("97.5%.", True), ("the 95 % interval", False)]
)
def test_a_close_percentage_is_found(text: str, close: bool) -> None:
    assert bool(CLOSE.search(text)) is close


@pytest.mark.parametrize(
    "page", sorted({path for pattern in (*PAGES, "notebooks/**/*.md") for path in ROOT.glob(pattern)}), ids=str
)
def test_percentages_in_pages(page: Path) -> None:
    assert not CLOSE.findall(STYLE.sub("", page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("notebook", sorted(ROOT.glob("notebooks/*.ipynb")), ids=lambda path: path.name)
def test_percentages_in_notebooks(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not CLOSE.findall("\n".join("".join(cell["source"]) for cell in cells))


@pytest.mark.parametrize("module", sorted(ROOT.glob("bench/**/*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_percentages_in_code(module: Path) -> None:
    """No sentence has one, and Python's own format, which writes them so, is left alone: `records.numbers.percent`."""
    source = module.read_text(encoding="utf-8")
    assert not [line for line in literals(source) if CLOSE.search(line)]
    formats = [node.format_spec for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FormattedValue)]
    written = [one.lineno for one in formats if one is not None and ast.unparse(one).rstrip("'\"").endswith("%")]
    assert not written or str(module.relative_to(ROOT)) == OF_LOCUST


def test_literals_are_those_of_users() -> None:
    source = '"""A docstring that was told."""\nX = {"told": f"was {X} not told"}'
    assert list(literals(source)) == ["was ", " not told"]


def helps(command: Any, above: str = "lockbench") -> Iterator[tuple[str, str]]:
    """Each command with the text of its --help."""
    yield above, "\n".join([command.help or "", *(getattr(one, "help", None) or "" for one in command.params)])
    for name, one in getattr(command, "commands", {}).items():
        yield from helps(one, f"{above} {name}")


HELPS = dict(helps(typer.main.get_command(app)))


@pytest.mark.parametrize("command", HELPS)
def test_help(command: str) -> None:
    assert HELPS[command]
    assert not found_in(HELPS[command])


@pytest.fixture(scope="module")
def documents() -> tuple[Document, ...]:
    evidence = Evidence.load(reference_campaign(), hazards=reference_hazards())
    assert evidence.hazards is not None
    return page_document(evidence, ()), hazards_document(evidence.hazards)


def test_rendered_pages(documents: tuple[Document, ...]) -> None:
    for one in documents:
        assert not found_in(markdown(one))
        assert not found_in(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", html_page(one), flags=re.DOTALL))


def test_a_footnote_has_few_words(documents: tuple[Document, ...]) -> None:
    notes = [note for one in documents for note in re.findall(r"^- \[\d+\] (.+)$", markdown(one), re.MULTILINE)]
    assert notes
    assert not [note for note in notes if len(note.split()) > NOTE_WORDS]
