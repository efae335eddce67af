"""Every printed number of waiting in the reference is what the judge finds in the events of its campaigns."""

import csv
import io
from typing import NamedTuple

import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.places import CONTENTION, members, reference_campaign
from bench.records.packed import unpack_campaign
from bench.records.store import CampaignFolder
from bench.report.documents.comparison import comparison_document
from bench.report.tidy import cells_csv, runs_csv
from bench.report.writers.markdown import markdown
from tests.judge.comparison import Comparison
from tests.judge.contention import Waiting, compare_cells, compare_contention, compare_runs, waiting
from tests.judge.renderings import TITLES

# How many numbers there are at least: a comparison that finds nothing to compare must not pass.
LEAST_OF_RUNS, LEAST_OF_CELLS, LEAST_OF_THE_TABLE = 4_000, 1_500, 15


class Judged(NamedTuple):
    evidence: Evidence
    runs: list[Waiting]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    folder = tmp_path_factory.mktemp("waiting")
    runs: list[Waiting] = []
    for campaign in members(CampaignFolder(reference_campaign().path / CONTENTION)):
        unpacked = folder / campaign.path.name
        unpack_campaign(campaign, unpacked)
        runs += waiting(unpacked)
    return Judged(Evidence.load(reference_campaign()), runs)


def test_every_number_of_a_run(judged: Judged) -> None:
    seen = Comparison()
    compare_runs(runs_csv(judged.evidence.about_waiting), judged.runs, seen)
    assert seen.wrong == []
    assert seen.cells >= LEAST_OF_RUNS


def test_every_number_of_a_cell(judged: Judged) -> None:
    runs = csv.DictReader(io.StringIO(runs_csv(judged.evidence.about_waiting)))
    void = {row["run_id"] for row in runs if row["void_reason"]}
    seen = Comparison()
    compare_cells(cells_csv(judged.evidence.about_waiting), judged.runs, void, seen)
    assert seen.wrong == []
    assert seen.cells >= LEAST_OF_CELLS


def test_the_first_table_takes_its_hand_offs_from_them(judged: Judged) -> None:
    seen = Comparison()
    compare_contention(markdown(comparison_document(judged.evidence)), judged.runs, TITLES, seen)
    assert seen.wrong == []
    assert seen.cells >= LEAST_OF_THE_TABLE
