"""The site: every page of docs/ is in it, every link leads somewhere, and nothing comes from another host."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.report.browser import browser

ROOT = Path(__file__).resolve().parents[2]
_LOADED = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site")
    # Not `--quiet`: a warning that is not shown is none that `--strict` counts.
    command = (sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(into))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return into


def test_each_page_of_the_docs_is_in_it(site: Path) -> None:
    told = yaml.safe_dump(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    for page in sorted((ROOT / "docs").glob("*.md")):
        assert page.name in told, f"{page.name} stands in no menu"
        assert (site / f"{page.stem}.html").is_file()
    for made in ("index", "contributing", "commands", "systems", "systems/redis"):
        assert (site / f"{made}.html").is_file()


def test_the_reference_of_the_command_has_every_command(site: Path) -> None:
    text = (site / "commands.html").read_text()
    for command in ("doctor", "run", "live", "hazard", "export", "compare"):
        assert f"lockbench {command}" in text


def test_nothing_of_a_page_is_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        assert not _LOADED.search(page.read_text()), page


def test_a_browser_shows_it(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as window:
        for name in ("index.html", "results.html", "tutorial.html"):
            window.open((site / name).as_uri())
            window.wait_for("document.querySelector('article h1')")
            broken = "return [...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"
            assert window.run(broken) == []
            assert [one for one in window.errors() if "search" not in one] == []
