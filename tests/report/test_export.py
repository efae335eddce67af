"""Exported files: complete, traceable to runs, and the same bytes in any environment."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.records.store import CampaignFolder, StoreError
from bench.report.export import MANIFEST, export
from bench.report.files import ReportError, write_file
from bench.report.run_ranges import run_ranges
from tests import campaigns

FIGURES = ("acquire_latency", "claimed_ranges", "where_time_goes")
FILES = {
    "comparison.md",
    "comparison.csv",
    "comparison.html",
    "claims.md",
    "claims.csv",
    "cells.csv",
    "curves.csv",
    "runs.csv",
    *(f"{name}.{ending}" for name in FIGURES for ending in ("svg", "pdf", "png")),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """Two systems, two repetitions: enough for every file."""
    plans = campaigns.plans(("redis", "etcd"), repetitions=2)
    folder = campaigns.start(tmp_path_factory.mktemp("small"), plans)
    for plan in plans:
        campaigns.add_run(folder, plan, campaigns.measured(plan, campaigns.SHAPES[plan.system]))
    return folder


@pytest.fixture(scope="module")
def exported(small: CampaignFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "review" / "today"
    written = export(small, target)
    assert {path.name for path in written} == FILES | {MANIFEST}
    return target


def test_every_file_is_there_and_in_the_manifest(small: CampaignFolder, exported: Path) -> None:
    assert {path.name for path in exported.iterdir()} == FILES | {MANIFEST}
    manifest = json.loads((exported / MANIFEST).read_text())
    assert manifest["campaign_id"] == campaigns.SYNTHETIC
    assert manifest["git_commit"] == "0123456789ab"
    assert [entry["file"] for entry in manifest["files"]] == sorted(FILES)
    planned = run_ranges(plan.run_id for plan in small.campaign.runs)
    assert manifest["runs"] == {"load": planned, "hazards": []}
    for entry in manifest["files"]:
        content = (exported / entry["file"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["runs"], entry["file"]
        assert entry["runs"] == ["all of load"] or set(entry["runs"]) < set(planned)


def test_a_figure_names_only_the_runs_that_it_shows(small: CampaignFolder, exported: Path) -> None:
    manifest = json.loads((exported / MANIFEST).read_text())
    (runs,) = (entry["runs"] for entry in manifest["files"] if entry["file"] == "acquire_latency.svg")
    assert runs == run_ranges(run for run in (plan.run_id for plan in small.campaign.runs) if "-uncontended-" in run)


def test_the_bytes_do_not_depend_on_who_renders_or_when(small: CampaignFolder, tmp_path: Path) -> None:
    """Two processes that differ in hash seed, time zone, language, date and the user's own Matplotlib settings."""
    code = (
        "import sys; from pathlib import Path; from bench.report.export import export;"
        " export(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    unlike = (
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
        {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Auckland", "LC_ALL": "C", "SOURCE_DATE_EPOCH": "86400"},
    )
    contents = []
    for number, changes in enumerate(unlike):
        own = tmp_path / f"settings{number}"
        own.mkdir()
        colour = "yellow" if number else "white"
        (own / "matplotlibrc").write_text(f"font.size: {9 + 8 * number}\naxes.facecolor: {colour}\n")
        target = tmp_path / f"out{number}"
        environment = {**os.environ, **changes, "MPLCONFIGDIR": str(own), "MATPLOTLIBRC": str(own)}
        subprocess.run([sys.executable, "-c", code, small.path, target], env=environment, check=True, timeout=100)
        contents.append({path.name: path.read_bytes() for path in target.iterdir()})
    assert contents[0].keys() == contents[1].keys()
    assert [name for name in contents[0] if contents[0][name] != contents[1][name]] == []


def test_exporting_again_changes_no_byte_and_leaves_no_rest(small: CampaignFolder, exported: Path) -> None:
    first = {path.name: path.read_bytes() for path in exported.iterdir()}
    second = {path.name: path.read_bytes() for path in export(small, exported)}
    assert first == second
    assert len(list(exported.iterdir())) == len(first)


def test_a_target_that_cannot_be_written_is_one_clear_message(small: CampaignFolder, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(ReportError, match=r"cannot write .*taken.*choose a folder"):
        export(small, tmp_path / "taken" / "review")
    with pytest.raises(ReportError, match=r"cannot write .*taken.*choose a folder"):
        write_file(tmp_path / "taken" / "review" / "comparison.md", b"")


def test_a_folder_without_a_campaign_is_one_clear_message(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read"):
        export(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists(), "nothing half-written"


def test_reports_load_no_client_library_and_no_load_generator() -> None:
    """Importing Locust or gevent into a notebook's kernel hangs it; client libraries are not installed everywhere."""
    code = (
        "import sys, bench.report.export, bench.report.show, bench.report.reference, bench.report.notebook;"
        " print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    found = set(loaded.stdout.split())
    assert "bench" in found
    assert not found & {"locust", "gevent", "redis", "kazoo", "etcd3", "grpc", "psycopg", "boto3", "botocore"}
