"""The committed figures and results page are what data/reference renders to: no byte was typed or left over.

Of the figures only those are committed that a page shows; the manifest has the digests of all.
"""

import re
import subprocess
from pathlib import Path

import pytest

from bench.analysis.claims import load_claims, load_seed_table, sources
from bench.analysis.places import project_root
from bench.records.store import StoreError
from bench.report.export import MANIFEST
from bench.report.reference import FIGURES as FIGURES_FOLDER
from bench.report.reference import RESULTS, render_reference

FIGURES = Path(FIGURES_FOLDER)
COMPARISON = "comparison.md"
_SHOWN = re.compile(r"\]\(((?:\.\./)?figures/[^)]+)\)")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference campaign, rendered afresh. Fails, and does not skip, when data/reference is not there."""
    into = tmp_path_factory.mktemp("rendered")
    render_reference(project_root(), into)
    return into


def test_rendering_again_changes_no_byte(rendered: Path) -> None:
    committed = project_root()
    fresh = [FIGURES / MANIFEST, *(name for name in _files(rendered) if (committed / name).exists())]
    assert FIGURES / COMPARISON in fresh
    unlike = [str(name) for name in fresh if _content(committed / name) != (rendered / name).read_bytes()]
    assert unlike == [], (
        "render them with `lockbench report --reference` in an environment made from requirements.lock "
        f"(figures/MANIFEST.json names the Matplotlib that was used): {unlike}"
    )


def test_no_committed_figure_is_left_over(rendered: Path) -> None:
    committed = subprocess.run(
        ["git", "ls-files", FIGURES], cwd=project_root(), capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(committed) <= {str(name) for name in _files(rendered)}
    assert (rendered / RESULTS).is_file()


def test_what_pages_show_is_committed(rendered: Path) -> None:
    root = project_root()
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        for link in _SHOWN.findall(page.read_text(encoding="utf-8")):
            assert _tracked((page.parent / link).resolve().relative_to(root)), f"{page.name} shows {link}"


@pytest.mark.parametrize("title", sources(load_claims()))
@pytest.mark.parametrize(
    "name", ["docs/results.md", "figures/claims.md", "figures/claims.csv", "figures/comparison.html"]
)
def test_every_page_is_cited_by_its_title_where_its_claims_stand(rendered: Path, name: str, title: str) -> None:
    assert title in (rendered / name).read_text(encoding="utf-8")


def test_the_glance_names_the_page_whose_comparison_it_repeats(rendered: Path) -> None:
    (title,) = {cell.source for cell in load_seed_table()}
    for name in ("docs/results.md", "figures/comparison.md", "figures/comparison.html"):
        assert f"what \u201c{title}\u201d claims" in (rendered / name).read_text(encoding="utf-8")


def test_a_missing_reference_campaign_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no campaign in .*reference"):
        render_reference(tmp_path, tmp_path)


def _files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _tracked(name: Path) -> bool:
    listed = subprocess.run(["git", "ls-files", name], cwd=project_root(), capture_output=True, text=True, check=True)
    return listed.stdout.strip() == str(name)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
