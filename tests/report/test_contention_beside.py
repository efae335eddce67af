"""Campaigns about waiting that lie beside others: what is said of waiting comes from them, and from nowhere else."""

import csv
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.ancestry import CellAncestry, RunAncestry, Sources
from bench.analysis.evidence import Evidence
from bench.analysis.places import CONTENTION, SEVERAL
from bench.records.store import CampaignFolder, StoreError
from bench.report.documents.comparison import comparison_document
from bench.report.documents.results import results_document
from bench.report.export import MANIFEST, export
from bench.report.tidy import claims_csv, comparison_csv
from bench.report.writers.markdown import markdown
from tests import campaigns
from tests.report.contention_campaigns import HOLD_MS, WAYS, swept

ABOUT_WAITING = {"C32", "C48", "C65"}  # of those systems and ways to wait


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """Three repetitions of the mode's workloads, whose releases nobody recorded, and two sweeps of waiting."""
    root = tmp_path_factory.mktemp("beside")
    made = campaigns.whole_campaign(root / "load")
    below = made.path / CONTENTION / SEVERAL
    below.mkdir(parents=True)
    for name in ("contention-1", "contention-2"):
        shutil.copytree(swept(root / name).path, below / name)
        record = below / name / "campaign.json"
        record.write_text(record.read_text().replace("made-up-sweep", name))
    return made


@pytest.fixture(scope="module")
def beside(folder: CampaignFolder) -> Evidence:
    return Evidence.load(folder)


def lines_of(text: str) -> Sequence[Mapping[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_glance_takes_hand_offs_from_them_with_their_hold(beside: Evidence) -> None:
    cell = f"a fair queue, held {HOLD_MS:g}\u00a0ms"
    text = markdown(comparison_document(beside))
    assert text.count(cell) >= len(WAYS)
    assert cell not in markdown(comparison_document(replace(beside, apart={})))
    (facts,) = [line for line in text.splitlines() if "Under contention" in line and "contention-1" in line]
    assert "contention-1, contention-2, custom" in facts
    (redis,) = [row for row in lines_of(comparison_csv(beside)) if row["system"] == "redis"]
    assert (redis["contended_hold_ms"], redis["hand_off_ms_p50"]) == ("5", "2.1")


def test_where_they_lack_a_system_its_own_cell_stays(beside: Evidence) -> None:
    (dynamodb,) = [row for row in lines_of(comparison_csv(beside)) if row["system"] == "dynamodb"]
    assert dynamodb["contended_hold_ms"] == "1"


def test_claims_about_waiting_rest_on_them_alone(beside: Evidence) -> None:
    found = {one.claim.id: one for one in beside.judgements if one.claim.id in ABOUT_WAITING and one.evidence}
    assert found.keys() == ABOUT_WAITING
    for one in found.values():
        assert all(run.startswith(("contention-1/", "contention-2/")) for run in one.evidence)
    assert "contention-1/" in claims_csv(beside)
    speed = [run for one in beside.judgements if one.claim.metric == "throughput" for run in one.evidence]
    assert speed
    assert not any("contention-" in run for run in speed)


def test_their_page_has_figures_verdicts_and_cells(beside: Evidence, tmp_path: Path, folder: CampaignFolder) -> None:
    assert beside.contention is not None
    files = {path.name for path in export(folder, tmp_path)}
    assert {"contention.md", "contention.html", "contention_cells.csv", "contention_runs.csv"} <= files
    assert "hand_off_by_strategy.svg" in files
    told = json.loads((tmp_path / MANIFEST).read_text())
    runs = {one["file"]: one["runs"] for one in told["files"]}
    assert runs["contention.md"] == ["all of contention"]
    assert runs["comparison.md"] == ["all of load", "all of contention"]
    assert told["contention"]["campaign_id"] == "contention-1, contention-2"
    text = (tmp_path / "contention.md").read_text()
    parts = ("## Figures", "## Claims and verdicts", "## Waiting beside a fair queue")
    assert sorted(parts, key=text.index) == list(parts)
    assert "Under contention" in (tmp_path / "comparison.html").read_text()


def test_the_results_page_names_their_page(beside: Evidence) -> None:
    assert "`docs/contention.md`" in markdown(results_document(beside, "../figures"))
    assert beside.about_waiting is beside.contention
    assert beside.about_waiting.about_waiting is beside.contention


def test_their_runs_and_cells_are_shown(beside: Evidence, folder: CampaignFolder) -> None:
    sources = Sources(beside, folder)
    run = sources.of_run("contention-2/redis-01-01")
    assert isinstance(run, RunAncestry)
    assert run.path == folder.path / CONTENTION / SEVERAL / "contention-2" / "redis-01-01"
    assert "C32" in run.claims
    (cell,) = sources.of_cell("redis", "shards, 4 keys")
    assert isinstance(cell, CellAncestry)
    assert len(cell.runs) == 4
    assert isinstance(sources.of_run("redis-contended-01"), RunAncestry)


def test_one_campaign_twice_is_refused(folder: CampaignFolder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder.path, copy)
    for record in (copy / CONTENTION / SEVERAL).glob("*/campaign.json"):
        record.write_text(record.read_text().replace("contention-2", "contention-1"))
    with pytest.raises(StoreError, match="one campaign twice"):
        _ = Evidence.load(CampaignFolder(copy)).contention
