"""No claim is decided by what one run, or a few, did not show."""

import pytest

from bench.analysis.claims import load_claims
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.hazards.verdicts import fault_verdicts
from bench.analysis.judgement import Verdict
from bench.report.hazard_verdicts import word_of
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders, window

CLAIMS = {claim.id: claim for claim in load_claims()}
_STEP = Staged({"step": "1.5 ttl"}, {"granted": 0.0}, faults=(window("clock_jump", amount=1500.0),))
_LATE = Staged({"late_ttls": 1.2}, {"granted": 0.0, "elapsed_ms": 1200.0})
# Of each claim that rests on something that was never observed: the trials of one run that would decide it.
NEVER_OBSERVED: dict[str, tuple[str, str, list[Staged]]] = {
    "C19": ("gc-pause", "redis", [two_holders(False), two_holders(True)]),
    "C21": ("gc-pause", "zookeeper", [two_holders(False), two_holders(True)]),
    "C23": ("gc-pause", "postgres-row", [pause()]),
    "C15": ("token-sources", "zookeeper", [Staged({"event": "contended"}, pairs=359)]),
    "C44": ("restart", "redis", [Staged({"durability": "always"}, {"still_held": 1.0})]),
    "C45": ("failover", "zookeeper", [Staged({"replicated": True}, {"granted": 0.0})]),
    "C53": ("page-scenario", "redis", [two_holders(False), two_holders(True)]),
    "C56": ("idle-in-transaction", "postgres-row", [pause()]),
    "C58": ("late-quorum", "redlock", [_LATE]),
}


def judged(claim: str, runs: list[HazardRun]) -> Verdict:
    (judgement,) = judge_by_hazards(CLAIMS[claim], records.evidence(*runs))
    return judgement.verdict


@pytest.mark.parametrize("claim", sorted(NEVER_OBSERVED))
def test_it_takes_runs_and_not_trials(claim: str) -> None:
    scenario, system, trials = NEVER_OBSERVED[claim]
    assert judged(claim, records.often(scenario, system, *trials * 20, repetitions=1)) is Verdict.CANNOT_SAY
    assert judged(claim, records.often(scenario, system, *trials, repetitions=4)) is Verdict.CANNOT_SAY
    assert judged(claim, records.often(scenario, system, *trials)) not in (Verdict.CANNOT_SAY, Verdict.NOT_MEASURED)


def test_what_was_observed_once_can_happen() -> None:
    once = records.often("gc-pause", "redlock", two_holders(False, token=False), repetitions=1)
    assert judged("C20", once) is Verdict.HOLDS
    slipped = records.often("gc-pause", "zookeeper", pause(fence=True, overlap_ms=9.0, accepted=1), repetitions=1)
    assert judged("C21", slipped) is Verdict.FAILS


def _freed(stolen: float) -> Staged:
    return Staged(measures={"stolen": stolen}, faults=(window(),))


def _stalled(stalled: str) -> Staged:
    return Staged({"stalled": stalled}, faults=(window("pause" if stalled == "process" else "stall"),))


_BACK = Staged(measures={"recovery_ms": 900.0}, faults=(window("kill"), window("clock_jump", amount=-5000.0)))
_AHEAD = Staged({"step": "ahead"}, faults=(window("clock_jump", amount=5000.0),))


def test_a_nought_of_another_scenario_does_not_carry_the_claim() -> None:
    servers = records.often("server-clock", "etcd", _AHEAD)
    assert judged("C28", [*servers, *records.often("clock-back-and-crash", "etcd", _BACK)]) is Verdict.CONDITION
    few = records.often("clock-back-and-crash", "etcd", _BACK, repetitions=1)
    assert judged("C28", [*servers, *few]) is Verdict.CANNOT_SAY


def test_two_holders_after_a_crash_count_as_two_holders() -> None:
    broken = Staged(measures={"recovery_ms": 900.0}, overlap_ms=600.0, faults=_BACK.faults)
    calm = [*records.often("server-clock", "etcd", _AHEAD), *records.often("clock-back-and-crash", "etcd", _BACK)]
    assert judged("C28", [*calm, *records.often("clock-back-and-crash", "etcd", broken)]) is Verdict.FAILS


def test_a_lock_that_was_freed_in_an_unexposed_trial_was_freed() -> None:
    early = Staged(measures={"stolen": 1.0}, faults=(window(length_ms=500.0),))
    held = records.often("late-release", "redis", _freed(0.0))
    plain = records.often("late-release", "redis-plain-delete", _freed(1.0))
    assert judged("C68", [*held, *plain]) is Verdict.HOLDS
    assert judged("C68", [*records.often("late-release", "redis", _freed(0.0), early), *plain]) is Verdict.FAILS


def test_a_plain_delete_that_was_harmless_in_one_run_refutes_nothing() -> None:
    held = records.often("late-release", "redis", _freed(0.0))
    assert judged("C68", [*held, *records.often("late-release", "redis-plain-delete", _freed(0.0))]) is Verdict.FAILS
    once = records.often("late-release", "redis-plain-delete", _freed(0.0), repetitions=1)
    assert judged("C68", [*held, *once]) is Verdict.CANNOT_SAY


def test_trials_too_short_to_show_a_late_write_do_not_make_it_impossible() -> None:
    short = pause(500.0)
    assert judged("C56", records.often("idle-in-transaction", "postgres-row", short)) is Verdict.NOT_MEASURED


@pytest.mark.parametrize(
    ("claim", "scenario", "trials"),
    [
        ("C33", "watchdog", [_stalled("process"), _stalled("worker")]),
        ("C53", "page-scenario", [pause(), pause(fence=True)]),
    ],
)
def test_a_claim_is_not_refuted_by_what_one_run_did_not_show(claim: str, scenario: str, trials: list[Staged]) -> None:
    assert judged(claim, records.often(scenario, "redis", *trials)) is Verdict.FAILS
    assert judged(claim, records.often(scenario, "redis", *trials, repetitions=1)) is Verdict.CANNOT_SAY


def test_the_window_is_not_judged_from_one_run() -> None:
    lengths = [two_holders(False, pause_ms) for pause_ms in (1500.0, 2000.0, 3000.0)]
    assert judged("C31", records.often("gc-pause", "redis", *lengths, repetitions=1)) is Verdict.CANNOT_SAY


def test_the_limit_of_a_node_is_not_judged_from_one_run() -> None:
    hanging = [
        Staged(
            {"nodes_down": 2, "how": "hang", "node_timeout_ms": limit_ms},
            {"nodes_down": 2.0, "acquired": 1.0, "acquire_ms": limit_ms + 1.0},
        )
        for limit_ms in (5, 50)
    ]
    assert judged("C59", records.often("nodes-down", "redlock", *hanging, repetitions=1)) is Verdict.CANNOT_SAY


@pytest.mark.parametrize(("repetitions", "word"), [(1, "seen in one run"), (2, "unsafe")])
def test_harm_is_no_verdict_until_another_run_could_have_shown_it(repetitions: int, word: str) -> None:
    harm = [two_holders(False, token=False)] * 5
    (found,) = fault_verdicts(records.often("gc-pause", "redlock", *harm, repetitions=repetitions))
    assert word_of(found) == word


def test_one_refused_late_write_is_no_safety_with_fencing() -> None:
    (once,) = fault_verdicts(records.often("gc-pause", "redis", two_holders(False), two_holders(True), repetitions=1))
    assert word_of(once) != "safe only with fencing"


def test_two_holders_after_a_jump_are_no_condition_of_a_lock_that_minds_no_clock() -> None:
    by_client = Staged(
        {"whose": "contender"}, overlap_ms=900.0, accepted=1, faults=(window("client_clock", amount=5e3),)
    )
    calm = [*records.often("server-clock", "etcd", _AHEAD), *records.often("clock-back-and-crash", "etcd", _BACK)]
    assert judged("C28", [*calm, *records.often("client-clock", "etcd", by_client)]) is Verdict.FAILS


def test_two_holders_with_a_fence_on_are_two_holders_of_a_lock_that_needs_none() -> None:
    cut = [
        Staged({"fence": False, "asks_first": asks}, faults=(window("partition", 4000.0),)) for asks in (True, False)
    ]
    calm = [*records.often("gc-pause", "zookeeper", pause(4000.0)), *records.often("cable-pulled", "zookeeper", *cut)]
    assert judged("C63", calm) is Verdict.HOLDS
    assert (
        judged("C63", [*calm, *records.often("gc-pause", "zookeeper", two_holders(True, 4000.0))]) is not Verdict.HOLDS
    )


def test_a_late_write_that_came_late_on_the_wire_counts_against_a_lock_without_a_fence() -> None:
    cut = [
        Staged({"fence": False, "asks_first": asks}, faults=(window("partition", 4000.0),)) for asks in (True, False)
    ]
    calm = [*records.often("gc-pause", "zookeeper", pause(4000.0)), *records.often("cable-pulled", "zookeeper", *cut)]
    late = Staged({"fence": False}, overlap_ms=900.0, accepted=1, faults=(window("write_held", 4000.0),))
    assert judged("C63", [*calm, *records.often("late-on-the-wire", "zookeeper", late)]) is Verdict.FAILS


def test_two_holders_of_whom_none_wrote_late_are_two_holders_of_a_lock_that_needs_no_fence() -> None:
    cut = [
        Staged({"fence": False, "asks_first": asks}, faults=(window("partition", 4000.0),)) for asks in (True, False)
    ]
    both = pause(4000.0, overlap_ms=900.0)
    found = [*records.often("gc-pause", "zookeeper", both), *records.often("cable-pulled", "zookeeper", *cut)]
    assert judged("C63", found) is Verdict.FAILS
