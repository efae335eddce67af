"""The notebook of waiting: committed without outputs, thin, and it shows every figure of a campaign that swept it."""

import itertools
from pathlib import Path

from bench.analysis.places import project_root
from bench.report.figures.contention import CONTENTION
from bench.report.notebook import CONTENTION_NOTEBOOK, render_contention_notebook
from tests.report.contention_campaigns import swept
from tests.report.test_notebook import cells

COMMITTED = project_root() / CONTENTION_NOTEBOOK


def test_it_is_committed_without_outputs_thin_and_without_numbers() -> None:
    found = cells(COMMITTED)
    for before, cell in itertools.pairwise(found):
        if cell.cell_type == "code":
            assert before.cell_type == "markdown"
            assert len(cell.source.splitlines()) <= 7
            assert (cell.outputs, cell.execution_count) == ([], None)
    prose = [cell.source.replace("99th", "") for cell in found if cell.cell_type == "markdown"]
    assert not [one for one in prose if any(character.isdigit() for character in one)]


def test_it_shows_every_figure_of_a_sweep(tmp_path: Path) -> None:
    folder = swept(tmp_path / "sweep", runs=1)
    written = render_contention_notebook(tmp_path / "out", folder, project_root())
    assert [path.name for path in written] == ["contention.ipynb", "contention-notebook.html"]
    code = [cell for cell in cells(written[0]) if cell.cell_type == "code"]
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") == len(CONTENTION)
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("stream", "error")]
