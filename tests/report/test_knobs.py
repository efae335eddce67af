"""Cells with controls: left out when notebooks are executed by command, and alive in a kernel of their reader's own."""

import nbformat
import pytest

from bench.analysis.places import CAMPAIGN_VARIABLE, project_root
from bench.report.clean_kernel import OwnNotebookClient, clean_environment
from bench.report.notebook_list import NOTEBOOKS, Notebook

pytestmark = pytest.mark.thorough

SKIPPED = "skip-execution"
NEEDED = ("parameters", "load", "knobs-drawn")  # the cells whose names those with controls use
_VIEW = "application/vnd.jupyter.widget-view+json"


def content_of(notebook: Notebook) -> nbformat.NotebookNode:
    return nbformat.read(project_root() / notebook.path, as_version=4)


def tagged(content: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in content.cells if SKIPPED in cell.metadata.get("tags", ())]


WITH_KNOBS = [one for one in NOTEBOOKS if tagged(content_of(one))]


def test_two_notebooks_have_knobs() -> None:
    assert [one.name for one in WITH_KNOBS] == ["network", "simulator"]


@pytest.mark.parametrize("notebook", WITH_KNOBS, ids=lambda one: one.name)
def test_its_controls_appear(notebook: Notebook) -> None:
    content = content_of(notebook)
    content.cells = [cell for cell in content.cells if cell.id in NEEDED or cell in tagged(content)]
    for cell in content.cells:
        cell.metadata.pop("tags", None)
    client = OwnNotebookClient(
        content, timeout=100, kernel_name="python3", resources={"metadata": {"path": str(project_root() / "notebooks")}}
    )
    with clean_environment() as environment:
        client.run({**environment, CAMPAIGN_VARIABLE: "reference"})
    (knobs,) = [cell for cell in content.cells if "interact(" in cell.source]
    assert [one for one in knobs.outputs if _VIEW in one.get("data", {})]
    assert not [one for cell in content.cells for one in cell.get("outputs", ()) if one.output_type == "error"]
