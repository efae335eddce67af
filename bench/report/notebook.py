"""The notebooks, executed from top to bottom in a fresh kernel, as .ipynb and as one HTML page each.

nbconvert is imported here only, so that tables and figures do not wait for it.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter

from bench.analysis.places import CAMPAIGN_VARIABLE, DATA_VARIABLE, HAZARDS_VARIABLE, NO_HAZARDS, project_root
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.clean_kernel import OwnNotebookClient, clean_environment
from bench.report.documents.hazards import TITLE
from bench.report.files import ReportError, write_file
from bench.report.writers.html import page

NOTEBOOK = Path("notebooks") / "comparison.ipynb"
HAZARD_NOTEBOOK = Path("notebooks") / "hazards.ipynb"
CONTENTION_NOTEBOOK = Path("notebooks") / "contention.ipynb"
_CELL_TIMEOUT_S = 120
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def render_notebook(
    target: Path,
    campaign: CampaignFolder | None = None,
    root: Path | None = None,
    hazards: HazardFolder | None = None,
) -> list[Path]:
    """Execute notebooks/comparison.ipynb and write comparison.ipynb and comparison-notebook.html into `target`.

    `campaign` None: what LOCKBENCH_CAMPAIGN names, else the latest, else the reference, with the hazards beside it. A
    given campaign is shown beside the given hazards, or beside none. Raises ReportError with the notebook's own error
    when a cell fails.
    """
    chosen = {}
    if campaign is not None:
        lab = NO_HAZARDS if hazards is None else str(hazards.path.resolve())
        chosen = {CAMPAIGN_VARIABLE: str(campaign.path.resolve()), HAZARDS_VARIABLE: lab}
    return _render(root or project_root(), NOTEBOOK, "Distributed locks: claimed and measured", target, chosen)


def render_contention_notebook(target: Path, campaign: CampaignFolder, root: Path | None = None) -> list[Path]:
    """Execute notebooks/contention.ipynb and write contention.ipynb and contention-notebook.html into `target`.

    Raises ReportError with the notebook's own error when a cell fails.
    """
    chosen = {CAMPAIGN_VARIABLE: str(campaign.path.resolve())}
    return _render(root or project_root(), CONTENTION_NOTEBOOK, "Waiting for a distributed lock", target, chosen)


def render_hazard_notebook(target: Path, hazards: HazardFolder, root: Path | None = None) -> list[Path]:
    """Execute notebooks/hazards.ipynb and write hazards.ipynb and hazards-notebook.html into `target`.

    Raises ReportError with the notebook's own error when a cell fails.
    """
    return _render(
        root or project_root(), HAZARD_NOTEBOOK, TITLE, target, {HAZARDS_VARIABLE: str(hazards.path.resolve())}
    )


def _render(root: Path, name: Path, title: str, target: Path, chosen: Mapping[str, str]) -> list[Path]:
    source = root / name
    try:
        notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    except OSError as refused:
        raise ReportError(f"cannot read {source}: {refused.strerror}") from refused
    # The kernel runs in the notebook's folder: what was given relative to ours must not change its meaning.
    if named := os.environ.get(DATA_VARIABLE):
        chosen = {DATA_VARIABLE: str(Path(named).resolve()), **chosen}
    # record_timing would write the hour of rendering into every cell.
    client = OwnNotebookClient(
        notebook,
        timeout=_CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,
        # The kernel's remark on unencrypted loopback sockets is not news to whoever renders a report.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(source.parent)}},
    )
    with clean_environment() as environment:
        try:
            client.run({**environment, **chosen})
        except (CellExecutionError, DeadKernelError, TimeoutError) as failed:
            raise ReportError(f"{source.name} stopped: {_last_line(failed)}") from failed
        except (RuntimeError, OSError) as failed:  # the kernel did not start, in Jupyter's or the system's words
            raise ReportError(
                f"{source.name} could not run in {sys.executable}: {_last_line(failed)}. Run `make env`, or leave the "
                "notebooks out with --no-notebook"
            ) from failed
        executed: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
        html = _html(notebook, title)
    return [
        write_file(target / source.name, executed.encode("utf-8")),
        write_file(target / f"{source.stem}-notebook.html", html.encode("utf-8")),
    ]


def _html(notebook: nbformat.NotebookNode, title: str) -> str:
    """The executed notebook in our own page: nbconvert's full templates fetch scripts from the network."""
    exporter = HTMLExporter(template_name="basic")  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(notebook)
    extra = Path(__file__).with_name("notebook_style.html").read_text(encoding="utf-8")
    return page(title, body, extra)


def _last_line(failed: Exception) -> str:
    lines = [line for line in _COLOURS.sub("", str(failed)).splitlines() if line.strip()]
    return lines[-1] if lines else type(failed).__name__
