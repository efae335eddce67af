"""A hazard campaign in exports, in the committed renderings and in notebooks: complete, traceable, and optional."""

import hashlib
import json
from pathlib import Path

import nbformat
import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.places import HAZARDS_VARIABLE, NO_HAZARDS, hazards_beside, project_root
from bench.records.store import CampaignFolder, HazardFolder, StoreError
from bench.report.documents.results import results_document
from bench.report.export import MANIFEST, export
from bench.report.notebook import render_notebooks
from bench.report.notebook_list import NOTEBOOKS, Needs
from bench.report.writers.markdown import markdown
from tests.analysis.hazards import records
from tests.report import hazard_campaigns
from tests.report.ranges import expanded
from tests.report.test_export import FILES

ROOT = project_root()
FIGURES = ("hazard_timeline", "hazard_map", "hazard_window", "crash_recovery", "redlock_clock")
HAZARD_FILES = {
    "hazards.md",
    "hazards.html",
    "hazards.csv",
    "hazard_verdicts.csv",
    *(f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf", "png")),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> HazardFolder:
    return hazard_campaigns.whole(tmp_path_factory.mktemp("hazards"))


@pytest.fixture(scope="module")
def exported(synthetic: Path, folder: HazardFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported")
    written = export(CampaignFolder(synthetic), target, hazards=folder)
    assert {path.name for path in written} == FILES | HAZARD_FILES | {MANIFEST}
    return target


def test_the_files_of_hazards_are_added_and_name_their_runs(exported: Path) -> None:
    manifest = json.loads((exported / MANIFEST).read_text())
    assert manifest["hazards"] == {"campaign_id": records.CAMPAIGN, "git_commit": "0123456789ab"}
    every = {f"all of {name}": ranges for name, ranges in manifest["runs"].items()}
    runs = {
        entry["file"]: [run for told in entry["runs"] for one in every.get(told, [told]) for run in expanded(one)]
        for entry in manifest["files"]
    }
    for entry in manifest["files"]:
        assert entry["sha256"] == hashlib.sha256((exported / entry["file"]).read_bytes()).hexdigest()
    assert runs["hazard_timeline.svg"] == ["page-scenario-redis-01"]
    assert runs["redlock_clock.pdf"] == ["redlock-clock-redlock-01"]
    assert "gc-pause-etcd-04" in runs["hazard_map.png"], "void runs are shown, so they are named"
    assert "gc-pause-redis-01" in runs["comparison.md"], "its cells about safety rest on it"
    assert "gc-pause-redis-01" in runs["claims.csv"]
    assert not any(run_id.startswith("gc-pause") for run_id in runs["runs.csv"])
    html = (exported / "comparison.html").read_text()
    assert "Under faults" in html
    assert "<script" not in (exported / "hazards.html").read_text()
    assert 'src="http' not in (exported / "hazards.html").read_text()


def test_without_hazards_nothing_of_them_is_left(synthetic: Path, tmp_path: Path) -> None:
    written = export(CampaignFolder(synthetic), tmp_path)
    assert {path.name for path in written} == FILES | {MANIFEST}
    assert "hazards" not in json.loads((tmp_path / MANIFEST).read_text())
    assert "Under faults" not in (tmp_path / "comparison.html").read_text()
    assert '<table class="matrix"' not in (tmp_path / "comparison.html").read_text()


def test_the_results_page_has_a_part_about_faults(synthetic: Path, folder: HazardFolder) -> None:
    text = markdown(results_document(Evidence.load(CampaignFolder(synthetic), hazards=folder), "../figures"))
    assert text.index("## Figures") < text.index("## Under faults") < text.index("## Claims and verdicts")
    assert "](../figures/hazard_timeline.svg)" in text
    assert text.count("Staged:") == 1


def test_which_hazards_stand_beside_a_campaign(
    synthetic: Path, folder: HazardFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = CampaignFolder(synthetic)
    monkeypatch.delenv(HAZARDS_VARIABLE, raising=False)
    monkeypatch.setenv("LOCKBENCH_DATA", str(tmp_path))
    assert hazards_beside(campaign) is None, "never the reference's beside another campaign"
    assert hazards_beside(campaign, NO_HAZARDS) is None
    found = hazards_beside(campaign, str(folder.path))
    assert found is not None
    assert found.path == folder.path.resolve()
    monkeypatch.setenv("LOCKBENCH_DATA", str(folder.path.parent))
    latest = hazards_beside(campaign)
    assert latest is not None
    assert latest.path == folder.path.resolve()
    monkeypatch.setenv(HAZARDS_VARIABLE, NO_HAZARDS)
    assert hazards_beside(campaign) is None
    with pytest.raises(StoreError, match="no campaign"):
        hazards_beside(campaign, "missing")


def test_the_hazard_notebooks_run_on_the_campaign_that_is_asked_for(
    folder: HazardFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path.parent)
    chosen = [one for one in NOTEBOOKS if one.needs is Needs.HAZARDS]
    written = render_notebooks(tmp_path, None, ROOT, HazardFolder(Path(folder.path.name)), chosen)
    assert [path.stem for path in written[::2]] == [one.name for one in chosen]
    books = [nbformat.read(path, as_version=4) for path in written[::2]]
    code = [cell for book in books for cell in book.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code if "parameters" not in cell.metadata.get("tags", ()))
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/svg+xml") == len(FIGURES) + 1, "and what waiting clients see, beside crashes"
    assert not [output for cell in code for output in cell.outputs if output.output_type in ("stream", "error")]
    for path in written[1::2]:
        html = path.read_text()
        assert records.CAMPAIGN in html
        assert "<script" not in html


def test_the_comparison_notebook_shows_the_hazards_beside_it(
    synthetic: Path, folder: HazardFolder, tmp_path: Path
) -> None:
    written = render_notebooks(tmp_path, CampaignFolder(synthetic), ROOT, folder)
    assert "two holders in 4 of 4 pauses" in written[1].read_text()
