"""Exposure before outcome: whether a trial counts is decided from its staging, and `safe` needs trials that count."""

from collections.abc import Mapping
from typing import Any

import pytest

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.verdicts import fault_verdicts
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.report.hazard_rows import scenario_tables
from bench.report.hazard_verdicts import NOT_SEEN, word_of
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders, window

# What a staging brings about and a record times beside the history; every other measure is of the outcome.
STAGED_MEASURES = {
    "elapsed_ms",
    "jump_ms",
    "remaining_validity_ms",
    "drift_ms",
    "rate_percent",
    "held_ms",
    "nodes_down",
}
STAGINGS: Mapping[str, Staged] = {
    "a pause": pause(1600.0),
    "a short pause": pause(500.0),
    "a clock ahead": Staged({"step": "1.5 ttl"}, faults=(window("clock_jump", amount=1500.0),)),
    "a clock back, a crash": Staged(faults=(window("kill"), window("clock_jump", amount=-1500.0))),
    "one step of a search": Staged({"jump_ms": 14, "nodes_jumped": 3}),
    "a restart": Staged({"durability": "everysec"}, faults=(window("restart"),)),
    "a late answer": Staged({"late_ttls": 1.2}, {"elapsed_ms": 1200.0}),
    "servers down": Staged({"nodes_down": 1, "how": "hang"}, {"nodes_down": 1.0}),
    "a cut": Staged(faults=(window("partition", 3000.0),)),
    "a suspension": Staged(faults=(window("suspend", 3000.0),)),
}


class Staging:
    """A trial as it was staged: asking it for its outcome fails the test."""

    def __init__(self, row: TrialRow) -> None:
        self._row = row

    def __getattr__(self, name: str) -> Any:
        assert name not in ("checked", "overlap_ms"), f"exposure was decided from the outcome: {name}"
        return getattr(self._row, name)

    def measure(self, name: str) -> float | None:
        assert name in STAGED_MEASURES, f"exposure was decided from the outcome: {name}"
        return self._row.measure(name)


def row_of(scenario: str, system: str, staged: Staged) -> TrialRow:
    (row,) = records.runs(scenario, system, staged).trials
    return row


@pytest.mark.parametrize("system", ["redis", "redlock", "etcd", "postgres-row", "dynamodb-client-clock"])
@pytest.mark.parametrize("scenario", records.with_verdicts())
def test_exposure_is_decided_without_the_outcome(scenario: str, system: str) -> None:
    for staged in STAGINGS.values():
        row = row_of(scenario, system, staged)
        told = subject_of(scenario).unexposed(Staging(row))  # type: ignore[arg-type]
        assert told == subject_of(scenario).unexposed(row)


def test_harm_in_an_unexposed_trial_is_told_apart_and_makes_no_frequency() -> None:
    sure = [two_holders(False, 4000.0), two_holders(True, 4000.0)]
    by_luck = [two_holders(False, 1600.0), pause(1600.0), pause(500.0)]  # a lease of etcd's may last 2 750 ms
    (got,) = fault_verdicts(records.often("gc-pause", "etcd", *sure, *by_luck))
    assert got.shown == Count(12, 12)
    assert got.counted.outside == Count(6, 18)
    assert "two holders in 12 of 12; two holders also in 6 of 18 unexposed trials" in got.reason
    assert got.verdict is HazardVerdict.WITH_FENCING


def test_harm_that_no_staging_made_for_is_harm() -> None:
    (got,) = fault_verdicts(records.often("gc-pause", "etcd", pause(4000.0), two_holders(False, 1600.0)))
    assert (got.shown, got.verdict) == (Count(0, 6), HazardVerdict.UNSAFE)
    assert got.telling == Count(6, 6), "the cell shows the harm, not the nought beside it"


@pytest.mark.parametrize(
    ("durability", "verdict"),
    [("none", "safe"), ("no", "not measured"), ("everysec", "not measured"), ("always", "safe"), ("own", "safe")],
)
@pytest.mark.parametrize("scenario", ["restart", "restarted-node"])
def test_a_killed_process_loses_nothing_that_the_kernel_has(scenario: str, durability: str, verdict: str) -> None:
    system = "redis" if scenario == "restart" else "redlock"
    (got,) = fault_verdicts(records.often(scenario, system, Staged(measures={"granted": 0.0}), durability=durability))
    assert got.verdict == verdict
    if verdict == "not measured":
        assert got.reason == "power loss not staged"


def test_the_steps_of_a_search_are_no_frequency() -> None:
    steps = [records.jump(550.0, True), records.jump(275.0, True), records.jump(13.0, True), records.jump(12.0, False)]
    (got,) = fault_verdicts(records.often("redlock-clock", "redlock", *steps, repetitions=2))
    assert (got.shown, got.counted.outside) == (Count(2, 2), Count(0, 0))
    assert "two holders in 2 of 2; from a jump of 13 ms on" in got.reason


@pytest.mark.parametrize("runs", [1, 2, 4])
def test_a_few_runs_never_print_safe_however_many_trials_they_hold(runs: int) -> None:
    (got,) = fault_verdicts(records.often("gc-pause", "postgres-row", *[pause()] * 50, repetitions=runs))
    assert got.verdict is HazardVerdict.SAFE
    assert word_of(got) == NOT_SEEN
    (enough,) = fault_verdicts(records.often("gc-pause", "postgres-row", pause(), repetitions=6))
    assert word_of(enough) == "safe"


def test_a_rows_verdict_is_its_own_trials() -> None:
    fence_off = records.often("gc-pause", "redis", pause(250.0), two_holders(False), fence=False)
    fence_on = [
        records.run(records.plan("gc-pause", "redis", number, fence=True), pause(250.0, True), two_holders(True))
        for number in range(7, 13)
    ]
    (table,) = scenario_tables(records.evidence(*fence_off, *fence_on))
    told = {(row.parameters["pause_ttls"], row.parameters["fence"]): row.verdict for row in table.rows}
    assert told == {
        ("0.25", "off"): "not measured",
        ("0.25", "on"): "not measured",
        ("1.6", "off"): "unsafe",
        ("1.6", "on"): "safe only with fencing",
    }


def test_a_minority_that_hangs_says_nothing_of_one_that_is_gone() -> None:
    def down(how: str, acquired: float) -> Staged:
        return Staged({"nodes_down": 1, "how": how}, {"nodes_down": 1.0, "acquired": acquired})

    runs = records.often("nodes-down", "zookeeper", down("kill", 1.0), down("hang", 0.0))
    assert {one.id: str(one.verdict) for one in fault_verdicts(runs)} == {
        "nodes-down/minority-killed": "safe",
        "nodes-down/minority-hanging": "unavailable",
    }


def test_a_late_write_tries_a_fence_whichever_trial_it_came_in() -> None:
    trials = [two_holders(True, 1600.0), pause(1600.0, fence=True, overlap_ms=600.0, ahead=1, by_token=False)]
    (run,) = records.often("gc-pause", "etcd", *trials, repetitions=1)
    assert Exposed.of(run.trials).late_with == Count(1, 2)
