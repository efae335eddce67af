"""The committed events carry every self-check: computed again from them, each says what the record says."""

import pytest

from bench.analysis.contention.measures import CONTENTION
from bench.analysis.places import APART, members, reference_campaign
from bench.analysis.selfchecks import check_run
from bench.records.schema import Checked, RunState
from bench.records.store import CampaignFolder, RunFolder

CAMPAIGNS = (
    *members(reference_campaign()),
    *(one for topic in APART for one in members(CampaignFolder(reference_campaign().path / topic))),
)


def one_of_each_cell() -> list[RunFolder]:
    """Of one campaign after the other, so that each campaign has its share."""
    found: dict[tuple[str, ...], list[RunFolder]] = {}
    for campaign in CAMPAIGNS:
        for run in campaign.runs():
            if run.state == RunState.CHECKED:
                one = run.plan.workload
                kind = campaign.path.parent.parent.name  # of the reference itself, or of a topic
                found.setdefault((kind, run.plan.system, one.name, one.wait), []).append(run)
    return [runs[number % len(runs)] for number, runs in enumerate(found.values())]


@pytest.mark.parametrize("run", one_of_each_cell(), ids=lambda run: f"{run.path.parent.name}-{run.path.name}")
def test_self_checks_can_be_repeated_on_the_reference(run: RunFolder) -> None:
    stored = run.checked
    again = check_run(run.plan, run.measured, run.events_path)
    assert passed(again) == passed(stored)
    later = again.from_events.keys() - stored.from_events.keys()
    assert later <= set(CONTENTION), "what was not computed when the reference was measured"
    assert stored.from_events.keys() <= again.from_events.keys()
    # The committed instants lie on a grid of 100 ns, which can move an interval by as much at either end. Of operations
    # that follow each other within that, nobody knows whether one stall held up both.
    for name, value in stored.from_events.items():
        assert again.from_events[name] == pytest.approx(value, rel=1e-2, abs=0.2), name


def passed(checked: Checked) -> dict[str, bool]:
    return {check.name: check.passed for check in checked.checks}
