"""Which hazard campaign is meant: named, the latest, the reference's, or none."""

from pathlib import Path

import pytest

from bench.analysis.places import HAZARDS_VARIABLE, find_hazards, reference_hazards
from bench.records.store import StoreError
from tests.analysis.hazards import records


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data" / "reference").mkdir(parents=True)
    (tmp_path / "data" / "claims.csv").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOCKBENCH_DATA", raising=False)
    monkeypatch.delenv(HAZARDS_VARIABLE, raising=False)
    return tmp_path


def keep_a_reference(project: Path) -> None:
    made = records.start(project / "elsewhere", records.plan("gc-pause", "redis"))
    made.path.rename(project / "data" / "reference" / "hazards")


def test_a_project_without_any_has_none(project: Path) -> None:
    assert find_hazards() is None
    assert reference_hazards() is None
    with pytest.raises(StoreError, match="no hazard campaign in data/reference/hazards"):
        find_hazards("reference")
    with pytest.raises(StoreError, match="no campaign 'mine'"):
        find_hazards("mine")


def test_the_latest_goes_before_the_reference_and_a_name_before_both(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_a_reference(project)
    found = find_hazards()
    assert found is not None
    assert found.path.name == "hazards"
    made = records.start(project / "data" / "runs", records.plan("gc-pause", "redis"))
    assert find_hazards().path == made.path  # type: ignore[union-attr]
    assert find_hazards("reference").path == found.path  # type: ignore[union-attr]
    assert find_hazards(str(made.path)).path == made.path  # type: ignore[union-attr]
    monkeypatch.setenv(HAZARDS_VARIABLE, "reference")
    assert find_hazards().path == found.path  # type: ignore[union-attr]
    monkeypatch.setenv(HAZARDS_VARIABLE, "gone")
    with pytest.raises(StoreError, match=records.CAMPAIGN):
        find_hazards()
