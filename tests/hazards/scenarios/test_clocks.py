"""Wall clocks that step, of servers and of clients: who is fooled by them, and by how small a step."""

import re

import pytest

from bench.hazards.clocks.observed import seen_offset
from bench.hazards.clocks.refusal import CannotStep
from bench.hazards.lab.lab import Lab
from bench.hazards.scenario import load_scenario
from bench.records.hazards import HazardChecked, HazardHistory, Trial, TrialChecked
from tests.hazards.scenarios.conftest import Play
from tests.thorough import one_in

pytestmark = pytest.mark.servers
MARGIN_MS = 6.0  # before the end of the holder's validity the contender asks, at the earliest: see the scenario


def of(history: HazardHistory, checked: HazardChecked, **parameters: object) -> list[tuple[Trial, TrialChecked]]:
    """The trials with these parameters, each with its judgement."""
    assert history.staging == ()
    return [
        (trial, judged)
        for trial, judged in zip(history.trials, checked.trials, strict=True)
        if all(trial.parameters[name] == value for name, value in parameters.items())
    ]


def smallest_breaking_jump_ms(trials: list[tuple[Trial, TrialChecked]]) -> float:
    return min(trial.measures["jump_ms"] for trial, judged in trials if judged.overlap_ns)


def assert_broken_from_the_rule_on(trials: list[tuple[Trial, TrialChecked]], aside_ms: float) -> None:
    """From what is left of the validity and what it sets aside; below that the jump was tried, and refused."""
    smallest_ms = smallest_breaking_jump_ms(trials)
    # Each trial's is shorter by what passed between the question and the holder's own count: the least disturbed tells.
    drift_ms = max(trial.measures["drift_ms"] for trial, _ in trials)
    assert drift_ms == pytest.approx(aside_ms, abs=1)
    # The keys of a busy machine are set some ms after the holder began to count: that much more is needed.
    assert drift_ms < smallest_ms <= drift_ms + MARGIN_MS + 10
    for trial, judged in trials:
        assert bool(judged.overlaps) == bool(trial.measures["granted"])
        if judged.overlaps:
            assert trial.measures["remaining_validity_ms"] > 0, "both are within their validity"
    every_jump = {trial.measures["jump_ms"] for trial, _ in trials}
    refused = {trial.measures["jump_ms"] for trial, judged in trials if not judged.overlaps}
    assert smallest_ms - 1 in refused | {0}, "the jump below the smallest was tried, and refused"
    assert {jump for jump in every_jump if jump >= smallest_ms} == every_jump - refused


@pytest.mark.measures
def test_of_a_bare_majority_one_clock_is_enough_and_of_all_five_it_takes_three(lab: Lab, play: Play) -> None:
    history, checked = play("redlock-clock", "redlock", when="late")
    bare, two, three = (
        of(history, checked, nodes_held=held, nodes_jumped=jumped) for held, jumped in ((3, 1), (5, 2), (5, 3))
    )
    assert not any(judged.overlaps for _, judged in two)
    assert two[0][0].measures["jump_ms"] > 500  # a jump beyond the TTL, and still three nodes hold the key
    assert all("2 of 5 nodes won, 3 held" in trial.notes["contender.acquire"] for trial, _ in two)
    assert_broken_from_the_rule_on(three, aside_ms=7)

    assert_broken_from_the_rule_on(bare, aside_ms=7)
    for trial, judged in bare:
        if not judged.overlaps:  # the two that the holder could not reach were free
            assert "2 of 5 nodes won, 3 held" in trial.notes["contender.acquire"]
        (jump,) = (fault for fault in trial.faults if fault.kind == "clock_jump")
        assert jump.confirmed.startswith("redlock-5 is "), "the clock of a node that it holds"
    servers = lab.servers("redlock")
    assert all(seen_offset("redlock", servers.state(node)).agrees_with(0) for node in servers.node_names)


@pytest.mark.measures
def test_one_redis_breaks_at_what_is_left_of_the_lease(play: Play) -> None:
    history, checked = play("redlock-clock", "redis", when="late")
    assert_broken_from_the_rule_on(of(history, checked, nodes_held=1), aside_ms=0)


def test_of_four_nodes_held_two_clocks_are_enough(play: Play) -> None:
    """The full set searches for the smallest jump; here the first step of that alone, which is longer than the TTL."""
    search = load_scenario("redlock-clock").search
    assert search is not None
    trials = {"ttl_ms": [500], "nodes_held": [4], "nodes_jumped": [1, 2]}
    first_step = {"trials": trials, "where": (), "search": search.model_copy(update={"grain": search.high})}
    history, checked = play("redlock-clock", "redlock", changed=first_step)
    ((_, whole),), ((_, broken),) = (of(history, checked, nodes_jumped=jumped) for jumped in (1, 2))
    assert not whole.overlaps
    assert broken.overlaps


def test_redlock_withstands_the_drift_that_it_sets_aside_and_no_more(lab: Lab, play: Play) -> None:
    history, checked = play("redlock-drift", "redlock")
    ((slow, unbroken),) = of(history, checked, rate_percent=0.5)
    ((fast, broken),) = of(history, checked, rate_percent=2)
    assert not unbroken.overlaps
    assert "2 of 5 nodes won, 3 held" in slow.notes["contender.acquire"]
    assert broken.overlaps
    for trial in (slow, fast):
        (drift,) = (fault for fault in trial.faults if fault.kind == "clock_drift")
        assert (drift.amount, drift.unit) == (trial.parameters["rate_percent"], "%")
        assert "by Redis TIME, after " in drift.confirmed
        assert "redlock-5 is " in trial.notes["clock_drift"], "asked again at the end"
    servers = lab.servers("redlock")
    assert all(seen_offset("redlock", servers.state(node)).agrees_with(0) for node in servers.node_names)


def test_one_redis_sets_nothing_aside_for_drift(play: Play) -> None:
    history, checked = play("redlock-drift", "redis")
    ((_, judged),) = of(history, checked)
    assert judged.overlaps, "half a percent of three seconds is more than the 6 ms that were left"


@pytest.mark.measures
def test_right_after_the_grant_it_takes_a_jump_of_the_ttl(play: Play) -> None:
    history, checked = play("redlock-clock", "redlock", when="early")
    for held, jumped in ((3, 1), (5, 3)):
        smallest_ms = smallest_breaking_jump_ms(of(history, checked, nodes_held=held, nodes_jumped=jumped))
        assert 500 * 0.5 < smallest_ms <= 500 + 5  # less than the TTL by the time that staging took
    assert not any(judged.overlaps for _, judged in of(history, checked, nodes_jumped=2))


def test_a_redis_whose_clock_steps_ahead_gives_its_key_away(lab: Lab, play: Play) -> None:
    history, checked = play("server-clock", "redis")
    assert history.staging == ()
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        (jump,) = trial.faults
        assert jump.kind == "clock_jump"
        assert jump.amount in (3_000.0, 3_600_000.0)
        assert "by Redis TIME" in jump.confirmed
        assert trial.measures["granted"] == 1
        assert judged.overlap_ns > 0
    assert seen_offset("redis", lab.servers("redis").state("redis")).agrees_with(0)


@pytest.mark.parametrize("system", ["zookeeper", "etcd", "postgres-row"])
def test_sessions_and_transactions_do_not_go_by_the_wall_clock(lab: Lab, play: Play, system: str) -> None:
    history, checked = play("server-clock", system)
    assert history.staging == ()
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        assert len(trial.faults) == 1
        assert trial.measures["granted"] == 0, trial.notes
        assert trial.measures["still_held"] == 1, trial.notes
        assert judged.overlap_ns == 0


@pytest.mark.parametrize("system", ["zookeeper", "etcd"])
def test_a_session_is_kept_and_refused_to_others_whatever_a_client_thinks_of_the_time(play: Play, system: str) -> None:
    for trial, judged in of(*play("client-clock", system)):
        assert trial.measures["granted"] == 0
        assert judged.overlap_ns == 0
        assert trial.beliefs[0].until_ns is None, "its holder keeps it to the end"


# The versions that keep the end of a lease by the wall clock. etcd sorts its leases by it up to 3.4, and by an instant
# that carries the monotonic clock since (lease_queue.go).
BY_THE_WALL_CLOCK = {
    "redis": r".*",
    "redlock": r".*",
    "etcd": r"3\.[0-4]\..*",
    "zookeeper": None,
    "postgres-row": None,
    "dynamodb": None,
}


@pytest.mark.parametrize("system", one_in(2, BY_THE_WALL_CLOCK))
def test_the_lock_of_a_dead_holder_is_kept_until_the_clock_has_caught_up(play: Play, system: str) -> None:
    history, checked = play("clock-back-and-crash", system)
    assert history.staging == ()
    assert history.facts is not None
    of_version = BY_THE_WALL_CLOCK[system]
    waits = of_version is not None and re.fullmatch(of_version, history.facts.version) is not None
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        kill, jump = sorted(trial.faults, key=lambda fault: fault.began_ns)
        assert (kill.kind, jump.kind, jump.amount) == ("kill", "clock_jump", -6_000.0)
        assert jump.began_ns - kill.began_ns < trial.ttl_ms * 1e6, "the clocks went back after the lease had ended"
        assert judged.overlap_ns == 0
        recovery_ms = trial.measures["recovery_ms"]
        assert (recovery_ms > trial.ttl_ms + 3_000) is waits, recovery_ms


def test_only_who_judges_by_client_time_is_fooled_by_a_client(play: Play) -> None:
    ahead, behind = {"step": "1.5 ttl"}, {"step": "-1.5 ttl"}
    careful = play("client-clock", "dynamodb")
    for trial, judged in of(*careful):
        assert judged.overlap_ns == 0
        assert trial.measures["granted"] == 1
        assert trial.measures["wait_ms"] < 2_500, "one lease, seen unchanged, and no more"

    trusting = play("client-clock", "dynamodb-client-clock")
    for who, step in (("contender", ahead), ("holder", behind)):
        ((_, judged),) = of(*trusting, whose=who, **step)
        assert judged.overlap_ns > 0
    for who, step in (("contender", behind), ("holder", ahead)):
        ((trial, judged),) = of(*trusting, whose=who, **step)
        assert judged.overlap_ns == 0
        assert trial.measures["wait_ms"] > 2_000, "the dead lock stays for as long as the clocks differ"


def test_where_no_clock_can_be_stepped_the_run_is_void_and_says_why(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise CannotStep("clocks are stepped on Linux on x86-64 only")

    monkeypatch.setattr("bench.hazards.faults.on_clocks.ProcessClock", refuse)
    history, checked = play("client-clock", "redis", as_staged=False)
    assert len(checked.staging) == len(history.trials) > 0
    assert all("on Linux on x86-64 only" in word for word in checked.staging)
