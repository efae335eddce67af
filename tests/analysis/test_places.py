"""Finding the project and a campaign from anywhere."""

import shutil
from pathlib import Path

import pytest

from bench.analysis.places import find_campaign, project_root, reference_campaign
from bench.records.store import StoreError
from tests import campaigns


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with claims; no environment variable points elsewhere."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "claims.csv").write_text("")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.delenv("LOCKBENCH_CAMPAIGN", raising=False)
    monkeypatch.delenv("LOCKBENCH_DATA", raising=False)
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def campaign(project: Path, name: str) -> Path:
    return campaigns.start(project / "data" / "runs", campaigns.plans(("redis",), campaign_id=name)).path


def reference(project: Path) -> None:
    made = campaigns.start(project / "elsewhere", campaigns.plans(("redis",), campaign_id="kept")).path
    shutil.copytree(made, project / "data" / "reference")


def test_the_root_is_found_from_the_notebooks_folder(project: Path) -> None:
    assert project_root() == project.resolve()


def test_without_a_checkout_around_the_package_itself_is_the_start(tmp_path: Path) -> None:
    assert (project_root(tmp_path) / "bench").is_dir()


def test_latest_then_reference_then_one_clear_error(project: Path) -> None:
    with pytest.raises(StoreError, match="no campaign in"):
        find_campaign()
    reference(project)
    assert find_campaign().campaign.campaign_id == "kept"
    campaign(project, "first")
    campaign(project, "second")
    assert find_campaign().campaign.campaign_id == "second"
    assert find_campaign("reference").campaign.campaign_id == "kept"
    assert reference_campaign().campaign.campaign_id == "kept"


def test_the_environment_names_a_campaign_or_its_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = campaign(project, "first")
    campaign(project, "second")
    monkeypatch.setenv("LOCKBENCH_CAMPAIGN", "first")
    assert find_campaign().campaign.campaign_id == "first"
    monkeypatch.setenv("LOCKBENCH_CAMPAIGN", str(path))
    assert find_campaign().campaign.campaign_id == "first"


def test_a_named_campaign_that_is_not_there_is_never_replaced(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference(project)
    campaign(project, "first")
    monkeypatch.setenv("LOCKBENCH_CAMPAIGN", "mistyped")
    with pytest.raises(StoreError, match=r"no campaign 'mistyped'.*first"):
        find_campaign()


def test_lockbench_data_moves_the_store(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaigns.start(project / "other", campaigns.plans(("redis",), campaign_id="moved"))
    monkeypatch.setenv("LOCKBENCH_DATA", str(project / "other"))
    assert find_campaign().campaign.campaign_id == "moved"
