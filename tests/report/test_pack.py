"""A pack: what a reader gets, in its order and in every format, from the runs of the chosen systems alone."""

import json
import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle
from PIL import Image

from bench.analysis import names
from bench.analysis.advice.advice import advise
from bench.analysis.advice.rules import rules
from bench.analysis.advice.situation import Situation
from bench.analysis.evidence import Evidence
from bench.analysis.narrowing import NotMeasured, of_systems
from bench.analysis.places import REFERENCE, find_campaign, hazards_beside
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.export_folder import MANIFEST
from bench.report.figures.drawing import canvas
from bench.report.figures.grounds import on_dark_ground
from bench.report.files import ReportError
from bench.report.limits import limits
from bench.report.model import Bullets, Heading
from bench.report.pack.answer import answer_blocks
from bench.report.pack.document import Pack, pack_document, three_figures
from bench.report.pack.sentences import system_sentences
from bench.report.pack.tables import ROWS, chosen_properties
from bench.report.pack.writing import PAGE, PAGES_MAX, export_pack
from bench.report.style import house_style
from bench.report.writers.pdf import _fitting
from tests.report import hazard_campaigns
from tests.report.browser import browser
from tests.report.test_renderings import Outline

TWO = ("etcd", "redis")
SIX = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
ORDER = [
    "The question",
    "The short answer",
    "System by system",
    "The table",
    "Figures",
    "Verdicts",
    "What to watch out for",
    "Method",
    "Limits",
    "Appendix",
]
# Words of the tables of the page that stand on more than one line.
_BROKEN = """
const found = [];
for (const cell of document.querySelectorAll('table.sheet th, table.sheet td')) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), words = document.createRange();
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[\\w.,]+/g)) {
      words.setStart(texts.currentNode, word.index);
      words.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...words.getClientRects()].map(one => one.top)).size > 1) found.push(word[0]);
    }
  }
}
return found;
"""
_TOP = """
const first = [...document.querySelectorAll('h2')].find(one => one.innerText === 'Figures');
return Math.floor(first.getBoundingClientRect().top + scrollY) - 12;
"""
_WIDE = """
return [...document.querySelectorAll('table.sheet')].map(one => one.getBoundingClientRect().width)
  .filter(width => width > 600.5).length
  + (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1);
"""


@pytest.fixture(scope="module")
def hazards(tmp_path_factory: pytest.TempPathFactory) -> HazardFolder:
    return hazard_campaigns.whole(tmp_path_factory.mktemp("hazards"))


@pytest.fixture(scope="module")
def two(synthetic: Path, hazards: HazardFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packs") / "two"
    export_pack(CampaignFolder(synthetic), target, TWO, title="Which lock for <b>orders</b> & 50 %?", hazards=hazards)
    return target


@pytest.fixture(scope="module")
def six(synthetic: Path, hazards: HazardFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("packs") / "six"
    export_pack(CampaignFolder(synthetic), target, SIX, hazards=hazards, transparent=True)
    return target


@pytest.fixture(params=["two", "six"])
def pack(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def figures(pack: Path) -> list[str]:
    return sorted(path.stem for path in pack.glob("*.pdf") if path.name != "pack.pdf")


def test_every_file_is_there_and_in_the_manifest(pack: Path) -> None:
    names = {"pack.html", "pack.md", "pack.pdf", "pack.tex", "table.csv", "cells.csv", "hazard_verdicts.csv"}
    assert len(figures(pack)) == 3
    names |= {f"{name}.{ending}" for name in figures(pack) for ending in ("svg", "pdf", "png")}
    names |= {f"{name}-dark.{ending}" for name in figures(pack) for ending in ("svg", "png")}
    assert {path.name for path in pack.iterdir()} == names | {MANIFEST}
    manifest = json.loads((pack / MANIFEST).read_text())
    assert {entry["file"] for entry in manifest["files"]} == names
    assert all(entry["runs"] for entry in manifest["files"])


def test_only_runs_of_the_chosen_systems(two: Path) -> None:
    runs = [run for kind in json.loads((two / MANIFEST).read_text())["runs"].values() for run in kind]
    assert runs
    assert all("redis" in run or "etcd" in run for run in runs)
    rows = re.findall(r"^\| ([^|]+) \|", (two / "pack.md").read_text(), re.MULTILINE)
    assert {"Redis", "etcd"} <= set(rows)
    assert not {"ZooKeeper", "Redlock", "Postgres row"} & set(rows)


def test_the_page_says_it_in_order(pack: Path) -> None:
    text = (pack / "pack.md").read_text(encoding="utf-8")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == ORDER
    method = text.partition("## Method\n\n")[2].partition("\n\n")[0]
    assert len(method.splitlines()) == 5


def test_the_short_answer_is_what_recommend_says() -> None:
    """Of the chosen systems, and no system that failed a step."""
    folder = find_campaign(REFERENCE)
    evidence = Evidence.load(folder, hazards=hazards_beside(folder, REFERENCE))
    whole = advise(evidence, Situation({**rules().defaults, "purpose": "correctness", "token": "checks"}))
    ranked = [names.title(one.system) for one in whole.ranked if one.system in TWO]
    _, answers, _ = answer_blocks(of_systems(evidence, TWO))
    assert isinstance(answers, Bullets)
    assert len(answers.lines) == 3
    assert ranked
    assert answers.lines[0].partition(": ")[2] == f"{', then '.join(ranked)}."
    assert answer_blocks(replace(evidence, hazards=None)) == ()


def test_each_system_in_short_sentences() -> None:
    """No chain of semicolons; every sentence begins with a capital letter, and none is long."""
    folder = find_campaign(REFERENCE)
    evidence = of_systems(Evidence.load(folder, hazards=hazards_beside(folder, REFERENCE)), SIX)
    found = system_sentences(evidence)
    assert len(found) == len(SIX)
    for _, words in found:
        assert ";" not in words
        sentences = re.split(r"(?<=\.) (?=[A-Z])", words)
        assert len(sentences) >= 6
        assert all(one[0].isupper() and one.endswith(".") and len(one.split()) <= 25 for one in sentences), sentences
    assert "It has no fencing token." in dict(found)["Redlock"]


def test_limits_name_systems_by_their_titles() -> None:
    folder = find_campaign(REFERENCE)
    evidence = of_systems(Evidence.load(folder, hazards=hazards_beside(folder, REFERENCE)), SIX)
    found = limits(evidence)
    assert any(line.startswith("Generator-bound") and names.title("postgres-row") in line for line in found)
    keys = [system for system in SIX if system != names.title(system)]
    assert not [(key, line) for line in found for key in keys if re.search(rf"\b{key}\b", line)]
    assert [line.partition(".")[0] for line in found if line.startswith("Emulators")] == ["Emulators: DynamoDB API"]


def test_the_html_needs_nothing_else(pack: Path) -> None:
    text = (pack / PAGE).read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)
    assert not outline.open
    assert not outline.foreign
    assert "script" not in outline.seen
    assert set(outline.anchors) <= set(outline.ids)
    assert text.count('(prefers-color-scheme: dark)" srcset="data:image/svg+xml;base64,') == 3
    assert "url(" not in text
    assert "<b>orders" not in text
    assert len(re.findall(r'<img src="data:[^"]*" width="600" height="\d{3}" alt=', text)) == 3, "editors have no style"
    assert not re.search(r"\s<sup>", text), "a mark stands on the line of its word"
    assert '<span class="below">(claimed: ' in text


def test_the_html_in_a_browser(two: Path, six: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as window:
        for pack in (two, six):
            window.open((pack / PAGE).as_uri())
            window.resize(640, 900)
            assert window.run(_WIDE) == 0, pack
            assert window.errors() == []
            window.resize(400, 900)
            assert window.run(_BROKEN) == [], pack
            assert window.run("return performance.getEntriesByType('resource').map(one => one.name)") == []


def test_the_page_of_the_reference(tmp_path: Path) -> None:
    folder = find_campaign(REFERENCE)
    lab = hazards_beside(folder, REFERENCE)
    export_pack(folder, tmp_path / "review", TWO[::-1], title="Locks for our job runner", hazards=lab)
    with browser(tmp_path) as window:
        window.open((tmp_path / "review" / PAGE).as_uri())
        window.screenshot(tmp_path / "whole.png", 760)
        top = window.run(_TOP)
    picture = Path(os.environ.get("LOCKBENCH_PICTURE", tmp_path / "pack.png"))  # docs/pack.png is made so
    with Image.open(tmp_path / "whole.png") as image:
        image.convert("RGB").crop((0, 0, image.width, top)).quantize(64).save(picture, optimize=True)
    assert picture.stat().st_size < 250_000
    with Image.open(picture) as image:
        assert 600 < image.height < 2_000


def test_the_pdf_has_few_pages(pack: Path) -> None:
    content = (pack / "pack.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", content))
    assert 2 <= pages <= PAGES_MAX
    assert b"D:20" not in content.replace(b"D:20000101", b""), "no date of today"


def test_verdicts_of_six_systems_fit_in_the_pdf() -> None:
    """Those of the reference, fault by fault, in letters that can be read."""
    folder = find_campaign(REFERENCE)
    whole = Evidence.load(folder, hazards=hazards_beside(folder, REFERENCE))
    evidence = of_systems(whole, SIX)
    properties = chosen_properties(evidence)
    document = pack_document(Pack("Six", "Which?", evidence, whole, properties, three_figures(evidence)))
    built = _fitting(document, 8.0, 6.6, PAGES_MAX)
    shown = {block.words for at in built.titles if isinstance(block := document.blocks[at], Heading)}
    assert built.pages <= PAGES_MAX
    assert "Verdicts, fault by fault" in shown


def test_the_latex_is_well_formed(pack: Path) -> None:
    text = (pack / "pack.tex").read_text(encoding="utf-8")
    assert text.isascii()
    assert "\\toprule" in text
    body = text.partition("\\begin{document}")[2]
    opened: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    plain = re.sub(r"\\[{}%&#_$]", "", body)
    assert plain.count("{") == plain.count("}")
    assert "%" not in plain
    assert not re.findall(r"[#^]", plain)
    for table in re.findall(r"\\begin\{longtable\}(.*?)\\end\{longtable\}", body, re.DOTALL):
        rows = [row for row in table.splitlines() if row.endswith("\\\\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
    for name in re.findall(r"\\includegraphics\[[^]]*\]\{([^}]*)\}", text):
        assert (pack / name).is_file()


def test_no_word_of_the_latex_reaches_the_next_column(pack: Path) -> None:
    """By a mean width of letters, in tables of few columns: more of them are hyphenated by TeX."""
    text = (pack / "pack.tex").read_text(encoding="utf-8")
    seen = 0
    for head, table in re.findall(r"\\begin\{longtable\}(.*?)\n(.*?)\\end\{longtable\}", text, re.DOTALL):
        widths = [float(mm) for mm in re.findall(r"p\{([\d.]+)mm\}", head)]
        assert sum(widths) <= 170
        rows = [row.removesuffix(" \\\\") for row in table.splitlines() if row.endswith("\\\\")]
        assert table.count("\\addlinespace") == len(rows) - 2, "rows stand apart, below the headings"
        for row in rows if len(widths) <= 6 else ():
            for mm, cell in zip(widths, re.split(r"(?<!\\) & ", row), strict=True):
                words = re.sub(r"\\[a-z]+\*?(?:\[[^]]*\])?|[{}$\\]", " ", cell)
                longest = max(map(len, re.split(r"[\s~-]+", words)))
                assert mm >= 1.3 * longest, (mm, cell)
                seen += 1
    assert seen > 20


def test_a_dark_figure_leaves_nothing_behind() -> None:
    """Words on a veil, a patch, points and a line: none has an edge afterwards that it had not before."""
    with house_style():
        figure = canvas(3.0, 2.0)
        axes = figure.add_subplot()
        axes.text(0.2, 0.5, "words", bbox={"facecolor": "white", "alpha": 0.6, "edgecolor": "none", "pad": 0.6})
        axes.add_patch(Rectangle((0.1, 0.1), 0.5, 0.2, facecolor="#777777", edgecolor="none", alpha=0.5))
        axes.scatter([0.1, 0.9], [0.9, 0.9], alpha=0.4, edgecolors="none")
        axes.plot([0.0, 1.0], [0.0, 1.0], marker="o", markeredgecolor="none")

        def drawn() -> bytes:
            content = BytesIO()
            figure.savefig(content, format="png")
            return content.getvalue()

        light = drawn()
        dark = []
        for _ in range(2):
            with on_dark_ground(figure):
                dark.append(drawn())
            assert drawn() == light
        assert dark[0] == dark[1] != light


def test_the_question_is_read_aloud(two: Path, six: Path) -> None:
    assert "serves our lock: Redis or etcd?" in (two / "pack.md").read_text(encoding="utf-8")
    for pack in (two, six):
        text = (pack / "pack.md").read_text(encoding="utf-8")
        asked = text.partition("## The question")[2].partition("## ")[0]
        assert re.search(r"started on \d{4}-\d\d-\d\d\.", asked)
        for line in text.splitlines():
            assert ": the token fell (" not in line or line.count("pairs of grants") == 1


def test_figures_have_text_and_a_dark_side(pack: Path) -> None:
    for name in figures(pack):
        light, dark = ((pack / f"{name}{end}.svg").read_text(encoding="utf-8") for end in ("", "-dark"))
        for svg in (light, dark):
            words = [one.text for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
            assert len(words) > 5, name
        assert "#16191c" in dark
        assert "#16191c" not in light


def test_a_picture_without_a_ground(two: Path, six: Path) -> None:
    for pack, clear in ((two, False), (six, True)):
        for name in figures(pack):
            with Image.open(BytesIO((pack / f"{name}.png").read_bytes())) as image:
                corner = image.convert("RGBA").getpixel((0, 0))
                assert isinstance(corner, tuple)
                assert (corner[3] == 0) is clear


def test_a_rerun_changes_no_byte(synthetic: Path, hazards: HazardFolder, two: Path, tmp_path: Path) -> None:
    title = "Which lock for <b>orders</b> & 50 %?"
    export_pack(CampaignFolder(synthetic), tmp_path / "again", TWO, title=title, hazards=hazards)
    unlike = [path.name for path in two.iterdir() if path.read_bytes() != (tmp_path / "again" / path.name).read_bytes()]
    assert unlike == []


def test_chosen_rows(synthetic: Path) -> None:
    from bench.report.pack.tables import decision_tables

    evidence = of_systems(Evidence.load(CampaignFolder(synthetic)), TWO)
    chosen = chosen_properties(evidence, ("pause_safety", "acquire_latency"))
    assert [one.key for one in chosen] == ["pause_safety", "acquire_latency"]
    assert [one.key for one in chosen_properties(evidence)] == list(ROWS)
    assert [len(table.columns) for table in decision_tables(evidence, chosen_properties(evidence))] == [4, 4, 4]
    with pytest.raises(ReportError, match=r"no row speed: choose from acquire_latency"):
        chosen_properties(evidence, ("speed",))


def test_a_variant_can_be_chosen(synthetic: Path) -> None:
    evidence = of_systems(Evidence.load(CampaignFolder(synthetic)), ("redis-aof", "redis"))
    assert evidence.headline == ("redis", "redis-aof")
    assert {row.system for row in evidence.rows} == {"redis", "redis-aof"}


@pytest.mark.parametrize("systems", [("nosuch",), ("redis", "nosuch"), ()])
def test_a_system_without_a_run_is_one_message(synthetic: Path, systems: tuple[str, ...]) -> None:
    with pytest.raises(NotMeasured, match="choose from redis"):
        of_systems(Evidence.load(CampaignFolder(synthetic)), systems)


def test_a_foreign_folder_is_refused(synthetic: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ReportError, match="not empty"):
        export_pack(CampaignFolder(synthetic), tmp_path, TWO)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
