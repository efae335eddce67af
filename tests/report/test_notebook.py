"""The comparison notebook: committed without outputs, thin, and it runs from top to bottom on any campaign."""

import itertools
import json
from pathlib import Path

import nbformat
import pytest

from bench.analysis.places import project_root
from bench.records.store import CampaignFolder
from bench.report.files import ReportError
from bench.report.notebook import NOTEBOOK, render_notebook

ROOT = project_root()
COMMITTED = ROOT / NOTEBOOK


def cells(path: Path) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_the_committed_notebook_has_no_outputs() -> None:
    found = cells(COMMITTED)
    code = [cell for cell in found if cell.cell_type == "code"]
    assert code
    for cell in code:
        assert cell.outputs == []
        assert cell.execution_count is None
        assert set(cell.metadata) == set()


def test_it_is_thin_and_explains_each_step() -> None:
    found = cells(COMMITTED)
    assert 10 <= len(found) <= 21
    for before, cell in itertools.pairwise(found):
        if cell.cell_type == "code":
            assert before.cell_type == "markdown"
            assert len(cell.source.splitlines()) <= 7
    source = COMMITTED.read_text()
    for word in ("gevent", "locust", "subprocess", "redis.Redis"):
        assert word not in source


def test_no_measured_number_is_typed_into_its_prose() -> None:
    for cell in cells(COMMITTED):
        if cell.cell_type == "markdown":
            assert not any(character.isdigit() for character in cell.source.replace("99th", "")), cell.source


def test_it_runs_on_the_campaign_that_is_asked_for(
    synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(synthetic.parent)  # a relative path means what it meant to the caller
    written = render_notebook(tmp_path, CampaignFolder(Path(synthetic.name)), ROOT)
    assert [path.name for path in written] == ["comparison.ipynb", "comparison-notebook.html"]
    executed = cells(written[0])
    code = [cell for cell in executed if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code)
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") == 3
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("stream", "error")]
    html = written[1].read_text()
    assert "synthetic-campaign" in html
    assert "<script" not in html
    assert 'src="http' not in html
    assert "execution" not in json.dumps([cell.metadata for cell in code]), "no hour of rendering in the file"


def test_a_cell_that_fails_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"comparison.ipynb stopped: StoreError: no campaign"):
        render_notebook(tmp_path / "out", CampaignFolder(tmp_path))
    assert not (tmp_path / "out").exists()
