"""All notebooks: one topic each, thin, without outputs, in the index; what they show is committed to the byte."""

import itertools
import json
import re
from pathlib import Path

import nbformat
import pytest

from bench.analysis.places import project_root
from bench.report.notebook import execute, render_copies
from bench.report.notebook_list import FOLDER, NOTEBOOKS, RENDERED, Notebook
from tests import campaigns

ROOT = project_root()
INDEX = (ROOT / FOLDER / "README.md").read_text(encoding="utf-8")
MODEL = "simulator"  # about the model, whose numbers are its reader's to choose
_PICTURE = re.compile(r'<img src="([^"]+)"')
_LINK = re.compile(r"\]\(([^)#:]+)\)")


def cells(notebook: Notebook) -> list[nbformat.NotebookNode]:
    content = nbformat.read(ROOT / notebook.path, as_version=4)
    nbformat.validate(content)
    return list(content.cells)


def test_the_list_is_what_there_is() -> None:
    assert sorted(path.stem for path in (ROOT / FOLDER).glob("*.ipynb")) == sorted(one.name for one in NOTEBOOKS)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda one: one.name)
class TestEach:
    def test_it_is_short_and_explains_each_step(self, notebook: Notebook) -> None:
        found = cells(notebook)
        assert 8 <= len(found) <= 25
        assert found[0].source.startswith(f"# {notebook.title}\n")
        for before, cell in itertools.pairwise(found):
            if cell.cell_type == "code":
                assert before.cell_type == "markdown" or "parameters" in before.metadata.get("tags", ())
                assert len(cell.source.splitlines()) <= 7
                assert (cell.outputs, cell.execution_count) == ([], None)

    def test_no_measured_number_is_typed_into_its_prose(self, notebook: Notebook) -> None:
        prose = [cell.source.replace("99th", "") for cell in cells(notebook) if cell.cell_type == "markdown"]
        assert notebook.name == MODEL or not [one for one in prose if any(sign.isdigit() for sign in one)]

    def test_papermill_finds_its_parameters(self, notebook: Notebook) -> None:
        """It injects its own values behind the one cell with this tag, and sets names that this cell has."""
        tagged = [cell.source for cell in cells(notebook) if "parameters" in cell.metadata.get("tags", ())]
        if notebook.name == MODEL:
            assert tagged == []
            return
        (source,) = tagged
        named = set(re.findall(r"^([A-Z]+) = None$", source, re.MULTILINE))
        assert named
        assert named <= {"CAMPAIGN", "HAZARDS"}
        rest = "\n".join(cell.source for cell in cells(notebook) if cell.cell_type == "code" and cell.source != source)
        assert all(re.search(rf"\b{name}\b", rest) for name in named), "a parameter that nothing reads"

    def test_it_stands_in_the_index_with_a_picture(self, notebook: Notebook) -> None:
        (row,) = [line for line in INDEX.splitlines() if f"](rendered/{notebook.name}.md)" in line]
        assert _PICTURE.search(row)


def test_what_the_index_names_is_there() -> None:
    for name in (*_PICTURE.findall(INDEX), *_LINK.findall(INDEX)):
        assert (ROOT / FOLDER / name).is_file(), name


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them, executed once on the reference."""
    into = tmp_path_factory.mktemp("copies")
    render_copies(into=into)
    return into / RENDERED


@pytest.mark.timeout(300)
def test_executing_them_again_changes_no_byte(copies: Path) -> None:
    fresh = {path.name: path.read_bytes() for path in copies.iterdir()}
    committed = {path.name: path.read_bytes() for path in (ROOT / RENDERED).iterdir()}
    assert fresh.keys() == committed.keys()
    unlike = [name for name, content in fresh.items() if content != committed[name]]
    assert unlike == [], "`make notebooks` writes them, in an environment made from requirements.lock"


@pytest.mark.timeout(300)
def test_the_copies_are_small_and_whole(copies: Path) -> None:
    assert sum(path.stat().st_size for path in copies.iterdir()) < 1_500_000
    for notebook in NOTEBOOKS:
        page = (copies / f"{notebook.name}.md").read_text(encoding="utf-8")
        assert "Traceback" not in page
        assert page.count("```python") == sum(cell.cell_type == "code" for cell in cells(notebook))
        for link in _LINK.findall(page):
            if not link.startswith("../README"):
                assert (ROOT / RENDERED / link).is_file(), f"{notebook.name} shows {link}"


def test_none_sees_a_name_of_another(tmp_path: Path) -> None:
    """They share a kernel, and nothing else."""
    (tmp_path / FOLDER).mkdir()
    for notebook, source in zip(NOTEBOOKS[:2], ("left_over = 1", "print('left_over' in globals())"), strict=True):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        nbformat.write(book, tmp_path / notebook.path)
    _, second = execute(NOTEBOOKS[:2], {}, tmp_path)
    assert second.content.cells[0].outputs[0].text == "False\n"
    assert second.content.cells[0].execution_count == 1, "as if it had run alone"


def test_one_parameter_chooses_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As papermill does it: a cell of assignments behind the tagged one."""
    plans = campaigns.plans(("redis",), ("uncontended",), repetitions=2)
    folder = campaigns.start(tmp_path / "made", plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES["redis"]))
    content = nbformat.read(ROOT / FOLDER / "method.ipynb", as_version=4)
    place = next(at for at, cell in enumerate(content.cells) if "parameters" in cell.metadata.get("tags", ()))
    chosen = f"CAMPAIGN = {str(folder.path)!r}\nHAZARDS = 'none'"
    content.cells.insert(place + 1, nbformat.v4.new_code_cell(chosen))
    (tmp_path / FOLDER).mkdir()
    (notebook,) = [one for one in NOTEBOOKS if one.name == "method"]
    nbformat.write(content, tmp_path / notebook.path)
    (done,) = execute([notebook], {"LOCKBENCH_CAMPAIGN": "nosuch"}, tmp_path)
    assert folder.campaign.campaign_id in json.dumps(done.content)
