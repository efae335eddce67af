"""Notebooks, executed from top to bottom: as .ipynb and one HTML page each, or as the copies that are committed.

All of them share one kernel, whose start and imports take longer than most of them, and what it has read. Between two
notebooks its namespace is emptied: none sees a name of another. nbconvert is imported here only, so that tables and
figures do not wait for it.
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter

from bench.analysis.places import (
    CAMPAIGN_VARIABLE,
    DATA_VARIABLE,
    HAZARDS_VARIABLE,
    NO_HAZARDS,
    REFERENCE,
    project_root,
)
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.clean_kernel import OwnNotebookClient, clean_environment
from bench.report.files import ReportError, write_file
from bench.report.notebook_list import FOLDER, NOTEBOOKS, RENDERED, Notebook
from bench.report.notebook_markdown import notebook_markdown
from bench.report.writers.html import page

NOTEBOOK = NOTEBOOKS[0].path
_CELL_TIMEOUT_S = 120
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_FORGET = "%reset -f"


@dataclass(frozen=True, slots=True)
class Executed:
    """A notebook with its outputs."""

    notebook: Notebook
    content: nbformat.NotebookNode


def render_notebooks(
    target: Path,
    campaign: CampaignFolder | None = None,
    root: Path | None = None,
    hazards: HazardFolder | None = None,
    chosen: Sequence[Notebook] = NOTEBOOKS[:1],
) -> list[Path]:
    """Execute notebooks and write NAME.ipynb and NAME-notebook.html of each into `target`, in their order.

    `campaign` None: what LOCKBENCH_CAMPAIGN names, else the latest, else the reference, with the hazards beside it. A
    given campaign is shown beside the given hazards, or beside none. Raises ReportError with the notebook's own error
    when a cell fails; nothing is written then.
    """
    named = {}
    if campaign is not None:
        lab = NO_HAZARDS if hazards is None else str(hazards.path.resolve())
        named = {CAMPAIGN_VARIABLE: str(campaign.path.resolve()), HAZARDS_VARIABLE: lab}
    elif hazards is not None:
        named = {HAZARDS_VARIABLE: str(hazards.path.resolve())}
    written = []
    files = []
    for one in execute(chosen, named, root):
        text: str = nbformat.writes(one.content)  # type: ignore[no-untyped-call]
        files.append((f"{one.notebook.name}.ipynb", text))
        files.append((f"{one.notebook.name}-notebook.html", _html(one.content, one.notebook.title)))
    for name, text in files:
        written.append(write_file(target / name, text.encode("utf-8")))
    return written


def render_copies(
    chosen: Sequence[Notebook] = NOTEBOOKS, root: Path | None = None, into: Path | None = None
) -> list[Path]:
    """Execute notebooks on the reference and write notebooks/rendered/NAME.md and its own pictures below `into`
    (default: the project itself). The same data give the same bytes. Of a notebook's pictures those that figures/ has,
    to the byte, are linked there. Returns the files, sorted. Raises ReportError as above.
    """
    root = root or project_root()
    into = into or root
    named = {CAMPAIGN_VARIABLE: REFERENCE, HAZARDS_VARIABLE: REFERENCE}
    written: list[Path] = []
    files: dict[str, bytes] = {}
    for one in execute(chosen, named, root):
        files |= notebook_markdown(one.content, one.notebook, root)
    for name, content in files.items():
        written.append(write_file(into / RENDERED / name, content))
    for path in sorted((into / RENDERED).glob("*")):  # what an earlier version of these notebooks showed
        if path.name not in files and path.name.partition("-")[0].partition(".")[0] in {one.name for one in chosen}:
            path.unlink()
    return sorted(written)


def execute(chosen: Sequence[Notebook], named: Mapping[str, str], root: Path | None = None) -> list[Executed]:
    """Every cell of each. `named` are variables of the kernel's environment. Raises ReportError."""
    root = root or project_root()
    contents = [(one, _read(root / one.path)) for one in chosen]
    whole = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    for number, (_, content) in enumerate(contents):
        if number:
            whole.cells.append(nbformat.v4.new_code_cell(_FORGET))  # type: ignore[no-untyped-call]
        whole.cells.extend(content.cells)
    # The kernel runs in the notebook's folder: what was given relative to ours must not change its meaning.
    if data := os.environ.get(DATA_VARIABLE):
        named = {DATA_VARIABLE: str(Path(data).resolve()), **named}
    # record_timing would write the hour of rendering into every cell.
    client = OwnNotebookClient(
        whole,
        timeout=_CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        # The kernel's remark on unencrypted loopback sockets is not news to whoever renders a report.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(root / FOLDER)}},
    )
    with clean_environment() as environment:
        try:
            client.run({**environment, **named})
        except (CellExecutionError, DeadKernelError, TimeoutError) as failed:
            raise ReportError(f"{_stopped(contents).path.name} stopped: {_last_line(failed)}") from failed
        except (RuntimeError, OSError) as failed:  # the kernel did not start, in Jupyter's or the system's words
            raise ReportError(
                f"{' '.join(one.path.name for one in chosen)} could not run in {sys.executable}: {_last_line(failed)}. "
                "Run `make env`, or leave the notebooks out with --no-notebook"
            ) from failed
    for _, content in contents:
        _number(content, whole.metadata.get("language_info"))
    return [Executed(one, content) for one, content in contents]


def _read(source: Path) -> nbformat.NotebookNode:
    try:
        return nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call,no-any-return]
    except OSError as refused:
        raise ReportError(f"cannot read {source}: {refused.strerror}") from refused


def _stopped(contents: Sequence[tuple[Notebook, nbformat.NotebookNode]]) -> Notebook:
    """The notebook with the cell that failed, or whose last cell never ran."""
    for one, content in contents:
        code = [cell for cell in content.cells if cell.cell_type == "code" and not cell.metadata.get("tags")]
        failed = any(output.output_type == "error" for cell in code for output in cell.outputs)
        if failed or any(cell.execution_count is None for cell in code):
            return one
    return contents[-1][0]


def _number(content: nbformat.NotebookNode, language: object) -> None:
    """As if it had run alone."""
    if language is not None:
        content.metadata["language_info"] = language
    for number, cell in enumerate((cell for cell in content.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number


def _html(notebook: nbformat.NotebookNode, title: str) -> str:
    """The executed notebook in our own page: nbconvert's full templates fetch scripts from the network."""
    with clean_environment():
        exporter = HTMLExporter(template_name="basic")  # type: ignore[no-untyped-call]
        body, _ = exporter.from_notebook_node(notebook)
    extra = Path(__file__).with_name("notebook_style.html").read_text(encoding="utf-8")
    return page(title, body, extra)


def _last_line(failed: Exception) -> str:
    lines = [line for line in _COLOURS.sub("", str(failed)).splitlines() if line.strip()]
    return lines[-1] if lines else type(failed).__name__
