"""The same on a campaign that is played here, on real servers: every kind of late write, with the fence and without."""

from pathlib import Path

import pytest

from bench.campaign.carrying_out import start
from bench.campaign.hazard_plans import choose_scenarios, plan_hazards
from bench.campaign.hazard_runs import HazardRuns
from bench.records.store import Store
from bench.servers.running.supervisor import Supervisor
from tests.judge.records import counted
from tests.judge.renderings import Rendered, judged
from tests.judge.writes import is_overtaken, is_stale

pytestmark = pytest.mark.servers

SCENARIOS = ("fence-gap", "late-on-the-wire", "cable-pulled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged")
    campaign = plan_hazards("judged", choose_scenarios(SCENARIOS), ["redis"], "quick", 2, 1)
    return start(HazardRuns(Supervisor(root / "home")), campaign, Store(root / "runs")).path


def test_every_printed_count_is_the_judges(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compared = Rendered.of(folder).against(judged(folder))
    with capsys.disabled():
        for name, one in compared.items():
            print(f"\n{name}: {one.cells:,} cells compared, {len(one.wrong)} unlike", end="")
    assert {name: one.wrong for name, one in compared.items() if one.wrong} == {}
    assert sum(one.cells for one in compared.values()) > 400


def test_the_judge_saw_writes_that_were_sent_late_and_others_that_were_overtaken(folder: Path) -> None:
    trials = counted(judged(folder))
    assert {one.scenario for one in trials} == set(SCENARIOS)
    for kind in (is_stale, is_overtaken):
        found = {(one.fenced, write["accepted"]) for one in trials for write in one.writes if kind(one, write)}
        assert {(False, True), (True, False)} <= found, "taken without a fence, refused with one"
