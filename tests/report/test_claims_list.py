"""All claims have a verdict or a reason, what pages say is what the data say, and no verdict is typed by hand."""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.analysis.claims import Claim, load_claims, sources
from bench.analysis.disagreements import disagreements, exclude_each_other
from bench.analysis.evidence import Evidence
from bench.analysis.judgement import Verdict
from bench.analysis.opened import open_campaign
from bench.analysis.places import REFERENCE, project_root
from bench.cli import app
from bench.errors import LockbenchError
from bench.report.claims_check import faults
from bench.report.claims_list import claim_lines, claims_by

ROOT = project_root()
# Of systems that lockbench has and the reference has not measured yet.
AWAITED = {"C43"}


@pytest.fixture(scope="module")
def reference() -> Evidence:
    return open_campaign(REFERENCE, REFERENCE)


def test_every_claim_has_a_verdict_or_a_reason(reference: Evidence) -> None:
    lines = claim_lines(reference)
    assert {line.id for line in lines} == {claim.id for claim in load_claims()}
    assert len({line.id for line in lines}) == 68
    assert {line.id for line in lines if not line.judged} <= AWAITED
    for line in lines:
        assert line.sentence.endswith(".")
        assert not re.search(r"\.\.|: \.|None|nan|\bttl\b|\bapi\b", line.sentence)
        assert line.runs or not line.judged or "no adapter" in line.sentence


def test_pages_say_what_the_data_say(reference: Evidence) -> None:
    found = list(faults(reference, ROOT))
    assert [one for one in found if one.partition(" ")[0] not in AWAITED] == []


def test_a_verdict_that_somebody_typed_is_found(reference: Evidence, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    lines = page.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("| C01 | "))
    lines[at] = lines[at].replace("**holds here with a condition**", "**holds**")
    removed = next(number for number, line in enumerate(lines) if line.startswith("| C60 | "))
    del lines[removed]
    (tmp_path / "docs/results.md").write_text("\n".join(lines), encoding="utf-8")
    found = [one for one in faults(reference, tmp_path) if one.partition(" ")[0] not in AWAITED]
    assert found == [
        "docs/results.md: C01 on Redis reads `holds`; the data say holds here with a condition",
        "docs/results.md lacks C60 on Redis",
    ]


def test_no_verdict_stands_in_the_code_or_the_claims() -> None:
    """A claim's id stands in its file, in the scenario that tests it (with its judge), and beside no verdict."""
    verdict = re.compile("|".join(re.escape(str(one)) for one in Verdict))
    typed = re.compile(rf"\bC\d\d\b[^\n]{{0,40}}\b(?:{verdict.pattern})\b")
    files = [*(ROOT / "bench").rglob("*.py"), *(ROOT / "bench").rglob("*.yaml"), *(ROOT / "notebooks").glob("*.ipynb")]
    rendered = "Written by lockbench"
    written = (path for path in (ROOT / "docs").glob("*.md") if rendered not in path.read_text(encoding="utf-8"))
    files += [ROOT / "README.md", *written]
    assert len(files) > 100
    found = {path.name: typed.findall(path.read_text(encoding="utf-8")) for path in files}
    assert {name: words for name, words in found.items() if words} == {}
    assert not set(load_claims()[0].__dataclass_fields__) & {"verdict"}


def test_both_groupings_have_every_line(reference: Evidence) -> None:
    lines = claim_lines(reference)
    for by in ("page", "system"):
        tables = [block for block in claims_by(lines, by) if hasattr(block, "rows")]
        assert sum(len(table.rows) for table in tables) == len(lines)
    headings = [block.words for block in claims_by(lines, "page") if hasattr(block, "words")]
    assert set(headings) == set(sources(load_claims()))


def claim(low: float | None, high: float | None, unit: str = "ms") -> Claim:
    return Claim("C01", "page", "redis", "acquire_latency", low, high, unit, "words", "test")


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        (claim(1, 2), claim(3, 4), True),
        (claim(1, 2), claim(2, 4), False),
        (claim(1, None), claim(3, 4), False),
        (claim(None, 1), claim(3, None), True),
        (claim(1000, 2000, "us"), claim(1.5, 3), False),
        (claim(1000, 2000, "us"), claim(3, 4), True),
    ],
)
def test_which_ranges_exclude_each_other(one: Claim, other: Claim, excluded: bool) -> None:
    assert exclude_each_other(one, other) is exclude_each_other(other, one) is excluded


def test_the_pages_contradict_each_other_about_zookeeper() -> None:
    found = disagreements(load_claims())
    assert "zookeeper" in {one.system for one in found}
    assert all(len({claim.source for claim in one.claims}) > 1 for one in found)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["--by", "verdict"], "--by is page or system"), (["--check", "--json"], "leave out --campaign")],
)
def test_one_message(arguments: list[str], told: str) -> None:
    ended = CliRunner().invoke(app, ["claims", *arguments])
    assert isinstance(ended.exception, LockbenchError)
    assert told in str(ended.exception)


def test_the_check_ends_with_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a page of another project's folder that says something else."""
    for name in ("data", "docs"):
        (tmp_path / name).mkdir()
    for name in ("claims.csv", "seed_table.csv"):
        shutil.copy(ROOT / "data" / name, tmp_path / "data" / name)
    (tmp_path / "data" / REFERENCE).symlink_to(ROOT / "data" / REFERENCE)
    (tmp_path / "docs" / "mine.md").write_text(
        "| Claim | System | Verdict |\n| --- | --- | --- |\n| C68 | Redis | fails |\n"
    )
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, ["claims", "--check"])
    assert ended.exit_code == 1
    assert "docs/mine.md: C68 on Redis reads `fails`; the data say holds" in str(ended.exception)
