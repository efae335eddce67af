"""What was measured apart lies beside a campaign: it has pages of its own, and no number of it goes anywhere else."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.ancestry import RunAncestry, Sources
from bench.analysis.evidence import Evidence
from bench.analysis.places import APART, CONTENTION, SEVERAL, reference_campaign
from bench.records.store import CampaignFolder
from bench.report.documents.comparison import comparison_document
from bench.report.documents.results import results_document
from bench.report.export import MANIFEST, export
from bench.report.figures import OF_TOPIC, load_drawings
from bench.report.tidy import cells_csv, claims_csv, comparison_csv
from bench.report.topics import TOPICS, Topic, apart
from bench.report.writers.markdown import markdown
from tests import campaigns
from tests.report.test_figures import beyond, covering

OTHERS = tuple(topic for topic in TOPICS if topic.place != CONTENTION)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> CampaignFolder:
    """A campaign of all workloads with another of its kind below each topic but contention's."""
    root = tmp_path_factory.mktemp("apart")
    made = campaigns.whole_campaign(root / "load")
    for topic in OTHERS:
        below = made.path / topic.place / SEVERAL / f"{topic.place}-1"
        below.parent.mkdir(parents=True)
        shutil.copytree(campaigns.whole_campaign(root / topic.place).path, below)
        record = below / "campaign.json"
        told = json.loads(record.read_text())
        record.write_text(json.dumps(told | {"campaign_id": f"{topic.place}-1"}))
    return made


@pytest.fixture(scope="module")
def beside(folder: CampaignFolder) -> Evidence:
    return Evidence.load(folder)


def test_each_place_is_one_topic_with_its_figures() -> None:
    assert sorted(topic.place for topic in TOPICS) == sorted(APART) == sorted(OF_TOPIC)
    assert len({topic.page for topic in TOPICS}) == len(TOPICS)


def test_words_of_the_references_figures_lie_within_them_and_apart() -> None:
    for topic, found in apart(Evidence.load(reference_campaign())):
        for drawing in topic.drawings(found):
            assert covering(drawing) == [], drawing.name
            assert beyond(drawing) == [], drawing.name


def test_they_are_found_and_never_pooled(beside: Evidence) -> None:
    assert [topic for topic, _ in apart(beside)] == list(OTHERS)
    alone = replace(beside, apart={})
    assert cells_csv(beside) == cells_csv(alone)
    assert comparison_csv(beside) == comparison_csv(alone)
    assert claims_csv(beside) == claims_csv(alone)
    # The same workloads lie in each topic: pooled, there would be four times as many runs.
    assert {len(cell.runs) for cell in beside.cells} == {len(cell.runs) for cell in alone.cells}


@pytest.mark.parametrize("topic", OTHERS, ids=lambda topic: topic.place)
def test_the_pages_name_it_and_its_campaign(beside: Evidence, topic: Topic) -> None:
    facts = markdown(comparison_document(beside))
    assert any(topic.heading in line and f"{topic.place}-1, " in line for line in facts.splitlines())
    assert f"`{topic.page}`" in markdown(results_document(beside, "../figures"))


def test_its_figures_are_drawn_from_it_alone(beside: Evidence) -> None:
    named = {draw.__name__ for topic in beside.apart for draw in OF_TOPIC[topic]}
    assert not {drawing.name for drawing in load_drawings(beside)} & named


def test_an_export_has_its_page_with_its_runs(folder: CampaignFolder, tmp_path: Path) -> None:
    files = {path.name for path in export(folder, tmp_path)}
    told = json.loads((tmp_path / MANIFEST).read_text())
    runs = {one["file"]: one["runs"] for one in told["files"]}
    for topic in OTHERS:
        assert {f"{topic.place}{ending}" for ending in (".md", ".html", "_cells.csv", "_runs.csv")} <= files
        assert runs[f"{topic.place}.md"] == [f"all of {topic.place}"]
        assert told[topic.place]["campaign_id"] == f"{topic.place}-1"
        assert f"\n# {topic.title}\n" in (tmp_path / f"{topic.place}.md").read_text()
        assert f"{topic.place}.html" in (tmp_path / "comparison.html").read_text()
    assert not {name for name in files if name.startswith(CONTENTION)}


def test_its_runs_are_shown_from_its_folder(beside: Evidence, folder: CampaignFolder) -> None:
    topic = OTHERS[0]
    found = Sources(beside, folder).of_run(f"{topic.place}-1/redis-uncontended-01")
    assert isinstance(found, RunAncestry)
    assert found.path == folder.path / topic.place / SEVERAL / f"{topic.place}-1" / "redis-uncontended-01"
