"""The comparison notebook runs from top to bottom on any campaign; tests/report/test_notebook_list.py is about all."""

import json
from pathlib import Path

import nbformat
import pytest

from bench.analysis.places import project_root
from bench.records.store import CampaignFolder
from bench.report.files import ReportError
from bench.report.notebook import render_notebooks
from bench.report.notebook_list import NOTEBOOKS

ROOT = project_root()
COMPARED = [one for one in NOTEBOOKS if one.name in ("comparison", "latency", "claims")]


def cells(path: Path) -> list[nbformat.NotebookNode]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return list(notebook.cells)


def test_it_runs_on_the_campaign_that_is_asked_for(
    synthetic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(synthetic.parent)  # a relative path means what it meant to the caller
    written = render_notebooks(tmp_path, CampaignFolder(Path(synthetic.name)), ROOT, chosen=COMPARED)
    names = ("comparison", "latency", "claims")
    assert [path.name for path in written] == [f"{one}{end}" for one in names for end in (".ipynb", "-notebook.html")]
    code = [cell for path in written[::2] for cell in cells(path) if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code if "parameters" not in cell.metadata.get("tags", ()))
    assert all(len(cell.outputs) <= 1 for cell in code), "no empty line above a table"
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
        render_notebooks(tmp_path / "out", CampaignFolder(tmp_path))
    assert not (tmp_path / "out").exists()
