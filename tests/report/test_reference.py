"""The committed figures and results page are what data/reference renders to: no byte was typed or left over."""

from pathlib import Path

import pytest

from bench.analysis.places import project_root
from bench.records.store import StoreError
from bench.report.reference import FIGURES, RESULTS, render_reference


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference campaign, rendered afresh. Fails, and does not skip, when data/reference is not there."""
    into = tmp_path_factory.mktemp("rendered")
    render_reference(project_root(), into)
    return into


def test_rendering_again_changes_no_byte(rendered: Path) -> None:
    committed = project_root()
    fresh = sorted(path.relative_to(rendered) for path in rendered.rglob("*") if path.is_file())
    assert fresh, "nothing was rendered"
    unlike = [str(name) for name in fresh if _content(committed / name) != (rendered / name).read_bytes()]
    assert unlike == [], (
        "render them with `lockbench report --reference` in an environment made from requirements.lock "
        f"(figures/MANIFEST.json names the Matplotlib that was used): {unlike}"
    )


def test_no_committed_figure_is_left_over(rendered: Path) -> None:
    committed = {path.name for path in (project_root() / FIGURES).iterdir()}
    assert committed == {path.name for path in (rendered / FIGURES).iterdir()}
    assert (rendered / RESULTS).is_file()


def test_a_missing_reference_campaign_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no campaign in .*reference"):
        render_reference(tmp_path, tmp_path)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
