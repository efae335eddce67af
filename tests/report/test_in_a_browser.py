"""Our tables as a reader sees them: in JupyterLab, whose own rules for tables are others, and on a phone's width."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.report import show
from bench.report.documents.hazards import hazards_document
from bench.report.documents.results import page_document
from bench.report.figures import ALL
from bench.report.writers.html import html_page
from bench.servers.running.ports import free_ports
from tests.report import hazard_campaigns
from tests.report.browser import Browser, browser, until_it_answers
from tests.thorough import case

# Of every cell that is shown: how it is set, and whether its words stay within it.
_CELLS = """
const found = [];
for (const cell of document.querySelectorAll('.lockbench td, .lockbench th')) {
  if (!cell.offsetParent) continue;
  const style = getComputedStyle(cell), box = cell.getBoundingClientRect();
  const words = document.createRange(); words.selectNodeContents(cell);
  const reach = Math.max(0, ...[...words.getClientRects()].map(one => one.right - box.right));
  const told = `${cell.closest('table').className}: ${cell.innerText.slice(0, 40)}`;
  const faults = [];
  if (!['left', 'start'].includes(style.textAlign)) faults.push('aligned ' + style.textAlign);
  if (!['top', 'bottom'].includes(style.verticalAlign)) faults.push('vertically ' + style.verticalAlign);
  if (style.display !== 'table-cell') faults.push('displayed as ' + style.display);
  if (style.whiteSpace === 'nowrap' && !cell.classList.contains('verdict')) faults.push('on one line');
  if (reach > 1) faults.push(`words ${reach} px beyond the cell`);
  if (getComputedStyle(cell.parentElement).backgroundColor !== 'rgba(0, 0, 0, 0)') faults.push('striped');
  if (faults.length) found.push(told + ': ' + faults.join(', '));
}
return found.slice(0, 20);
"""
_MARKERS = """
return [...document.querySelectorAll('.lockbench td.verdict')].filter(one => one.offsetParent)
  .filter(one => !getComputedStyle(one, '::before').content.includes('\\u25CF')).length;
"""
# Of the lists of facts: terms that take more than one line, since each has room for one.
_TERMS = """
const words = document.createRange(), lines = one => (words.selectNodeContents(one), words.getClientRects().length);
return [...document.querySelectorAll('.lockbench dl.facts dt')].filter(one => one.offsetParent && lines(one) > 1)
  .map(one => one.innerText);
"""
_TOO_WIDE = """
return [...document.querySelectorAll('figure img, .output_svg svg')].filter(
  one => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).length
  + (document.documentElement.scrollWidth > document.documentElement.clientWidth + 1);
"""


@pytest.fixture(scope="module")
def hazards(tmp_path_factory: pytest.TempPathFactory) -> HazardEvidence:
    return HazardEvidence.load(hazard_campaigns.whole(tmp_path_factory.mktemp("hazards")))


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def lab(evidence: Evidence, hazards: HazardEvidence, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a notebook with every table of ours, in a JupyterLab of this environment."""
    folder = tmp_path_factory.mktemp("lab")
    shown = [show.settings(evidence), show.comparison(evidence), show.costs(evidence), show.claims(evidence)]
    shown += [show.hazard_facts(hazards), show.under_faults(hazards), show.window(hazards), show.scenarios(hazards)]
    outputs = [nbformat.v4.new_output("display_data", {"text/html": one._repr_html_()}) for one in shown]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show", outputs=outputs, execution_count=1)])
    nbformat.write(notebook, folder / "tables.ipynb")
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **own}
    # As after running it: of a notebook that somebody else ran, JupyterLab shows no styles.
    trust = [sys.executable, "-m", "jupyter", "trust", str(folder / "tables.ipynb")]
    subprocess.run(trust, env=environment, check=True, capture_output=True, timeout=60)
    (port,) = free_ports(1)
    argv = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--ip=127.0.0.1"]
    argv += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}", "--ServerApp.port_retries=0"]
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(argv, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        until_it_answers(f"http://127.0.0.1:{port}/api", server)
        yield f"http://127.0.0.1:{port}/lab/tree/tables.ipynb"
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("width", [case(1400, rare=True), 1000])
def test_jupyterlab_sets_our_tables_as_we_do(lab: str, window: Browser, width: int) -> None:
    window.resize(width, 1000)
    window.open(lab)
    window.wait_for("document.querySelectorAll('.jp-RenderedHTMLCommon .lockbench table').length > 12")
    assert window.run(_CELLS) == []
    assert window.run(_MARKERS) == 0
    assert window.run(_TERMS) == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize("width", [400, 700, 1400])
@pytest.mark.parametrize("name", ["comparison", "hazards"])
def test_a_page_keeps_its_tables_at_any_width(
    evidence: Evidence, hazards: HazardEvidence, window: Browser, tmp_path: Path, width: int, name: str
) -> None:
    drawings = [draw(evidence) for draw in ALL]
    page = (
        html_page(page_document(evidence, drawings))
        if name == "comparison"
        else html_page(hazards_document(hazards, []))
    )
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    # A window cannot be as narrow as a phone; a frame in it can.
    frame = f'<body style="margin:0"><iframe src="page.html" style="width:{width}px;height:900px;border:0"></iframe>'
    (tmp_path / "frame.html").write_text(frame)
    window.resize(1500, 1000)
    window.open(f"file://{tmp_path / 'frame.html'}")
    window.frame()
    window.wait_for("document.querySelectorAll('.lockbench table').length > 0")
    assert window.run("return window.innerWidth") == width
    assert window.run(_CELLS) == []
    assert window.run(_MARKERS) == 0
    assert window.run(_TOO_WIDE) == 0
