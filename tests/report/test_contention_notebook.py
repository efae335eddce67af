"""The notebook of waiting shows every figure of a campaign that swept it."""

from pathlib import Path

from bench.analysis.places import project_root
from bench.report.figures.contention import CONTENTION
from bench.report.notebook import render_notebooks
from bench.report.notebook_list import NOTEBOOKS
from tests.report.contention_campaigns import swept
from tests.report.test_notebook import cells

CHOSEN = [one for one in NOTEBOOKS if one.name == "contention"]


def test_it_shows_every_figure_of_a_sweep(tmp_path: Path) -> None:
    folder = swept(tmp_path / "sweep", runs=1)
    written = render_notebooks(tmp_path / "out", folder, project_root(), chosen=CHOSEN)
    assert [path.name for path in written] == ["contention.ipynb", "contention-notebook.html"]
    code = [cell for cell in cells(written[0]) if cell.cell_type == "code"]
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") == len(CONTENTION)
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("stream", "error")]
