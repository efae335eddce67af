"""A pack: what a reader gets, in its order and in every format, from the runs of the chosen systems alone."""

import json
import re
import xml.etree.ElementTree as ElementTree
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from bench.analysis.evidence import Evidence
from bench.analysis.narrowing import NotMeasured, of_systems
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.export_folder import MANIFEST
from bench.report.files import ReportError
from bench.report.pack.tables import ROWS
from bench.report.pack.writing import PAGE, PAGES_MAX, export_pack
from tests.report import hazard_campaigns
from tests.report.browser import browser
from tests.report.test_renderings import Outline

TWO = ("etcd", "redis")
SIX = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
ORDER = [
    "The question",
    "One sentence a system",
    "The table",
    "Figures",
    "Verdicts",
    "What to watch out for",
    "Method",
    "Limits",
    "Appendix",
]
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


def test_the_html_in_a_browser(two: Path, six: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as window:
        for pack in (two, six):
            window.open((pack / PAGE).as_uri())
            window.resize(640, 900)
            assert window.run(_WIDE) == 0, pack
            assert window.errors() == []


def test_the_pdf_has_few_pages(pack: Path) -> None:
    content = (pack / "pack.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", content))
    assert 2 <= pages <= PAGES_MAX
    assert b"D:20" not in content.replace(b"D:20000101", b""), "no date of today"


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
    from bench.report.pack.tables import chosen_properties, decision_tables

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
