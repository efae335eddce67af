"""Shares among systems: what all have in common drops out, and their intervals cover the truth as often as they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.intervals import Method
from bench.analysis.relative import shares

COST = st.floats(0.01, 1e4)
RUNS = st.lists(COST, min_size=2, max_size=7)
CAMPAIGN = st.dictionaries(st.sampled_from("abcdef"), RUNS, min_size=3)


@given(CAMPAIGN)
def test_they_are_about_their_geometric_mean(costs: dict[str, list[float]]) -> None:
    found = shares({system: [runs] for system, runs in costs.items()})
    assert found.keys() == costs.keys()
    assert math.fsum(share.centre for share in found.values()) == pytest.approx(0.0, abs=1e-6)
    for share in found.values():
        told = share.estimate()
        assert 0.0 < told.low <= told.value <= told.high


@given(CAMPAIGN, st.floats(0.1, 10.0))
def test_a_slower_machine_changes_nothing(costs: dict[str, list[float]], slower: float) -> None:
    before = shares({system: [runs] for system, runs in costs.items()})
    after = shares({system: [[cost * slower for cost in runs]] for system, runs in costs.items()})
    for system, share in before.items():
        assert after[system].centre == pytest.approx(share.centre, abs=1e-6)
        ratio = after[system].over(share)
        assert ratio.low <= ratio.value <= ratio.high
        assert ratio.contains(1.0) or ratio.value == pytest.approx(1.0)


def test_the_interval_covers_the_truth() -> None:
    """Eight systems that vary by 2 to 25 %, on a machine that is another one for each campaign."""
    dice = np.random.default_rng(7)
    truth, spread = np.linspace(-2.0, 2.0, 8), np.linspace(0.02, 0.25, 8)
    truth -= truth.mean()
    inside = total = 0
    for _ in range(400):
        machine = dice.normal(0.0, 0.5)
        costs = {at: [np.exp(dice.normal(truth[at] + machine, spread[at], 6)).tolist()] for at in range(8)}
        for at, share in shares(costs).items():
            inside += share.estimate().contains(math.exp(truth[at]))
            total += 1
    assert total == 3_200
    assert 0.93 < inside / total < 0.975


def test_of_several_campaigns_each_is_one_unit() -> None:
    costs = {"a": [[1.0, 1.1], [2.0, 2.2], [4.0]], "b": [[3.0], [6.0], [12.0]], "c": [[9.0], [18.0], [36.0]]}
    found = shares(costs)
    assert found["b"].estimate().method is Method.T_LOG_OF_CAMPAIGNS
    assert found["b"].freedom == 2.0
    assert found["a"].runs == 5


@pytest.mark.parametrize(
    "costs",
    [
        {"a": [[1.0, 2.0]], "b": [[1.0, 2.0]]},
        {"a": [[1.0, 2.0]], "b": [[1.0, 2.0]], "c": [[1.0]]},
        {"a": [[1.0], [1.0]], "b": [[1.0], [1.0]], "c": [[1.0], [1.0]]},
        {"a": [[1.0], [1.0], [1.0]], "b": [[1.0], [1.0], [1.0]], "c": [[1.0, 2.0]]},
        {},
    ],
    ids=["two systems", "one run", "two campaigns", "unlike campaigns", "none"],
)
def test_too_little_tells_nothing(costs: dict[str, list[list[float]]]) -> None:
    assert shares(costs) == {}


def test_one_campaign_beside_several_varies_as_they_do() -> None:
    """No system changed: an interval that knew the campaign's runs alone would say so of too many, 82 in 100."""
    dice = np.random.default_rng(11)
    inside = total = 0
    for _ in range(300):
        several, one = (
            shares(
                {
                    at: [
                        np.exp(at / 4.0 + dice.normal(0.0, 0.1) + dice.normal(0.0, 0.03, 6)).tolist()
                        for _ in range(campaigns)
                    ]
                    for at in range(8)
                }
            )
            for campaigns in (3, 1)
        )
        for at, share in one.items():
            there, back = share.over(several[at]), several[at].over(share)
            assert there.value * back.value == pytest.approx(1.0)
            assert there.low * back.high == pytest.approx(1.0)
            inside += there.contains(1.0)
            total += 1
    assert total == 2_400
    assert 0.93 < inside / total < 0.98
