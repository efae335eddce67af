"""What arrives when its sender has given up, or is not entitled to it any more: a write, the request of an acquire."""

import pytest

from bench.records.hazards import HazardHistory, TrialChecked
from bench.systems.registry import SYSTEMS
from tests.hazards.scenarios.conftest import Play

ALL = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
STAYS_WITH_ITS_HOLDER = ("zookeeper", "etcd", "postgres-row")  # kept alive by the client, or by the connection


def overtaken(trial: TrialChecked, system: str) -> None:
    """The write came late and was sent in time: taken where nobody can see it, refused by a fence that has a token."""
    refused = trial.parameters["fence"] is True and system != "redlock"
    assert trial.stale_writes == (), "its sender did nothing wrong"
    assert (trial.overtaken_accepted, trial.overtaken_refused) == (not refused, refused)
    assert trial.lost_updates == (not refused)


@pytest.mark.parametrize("system", ALL)
def test_a_write_that_is_late_on_the_wire_is_refused_by_a_fence_alone(play: Play, system: str) -> None:
    history, checked = play("late-on-the-wire", system)
    assert checked.staging == ()
    others_let_in = set()
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        # Who is cut off just before a keep-alive has two thirds of its lease left, less what its own steps took.
        assert trial.measures["held_ms"] > 0.5 * trial.ttl_ms
        (late,) = [write for write in trial.writes if write.actor == "holder"]
        holder, contender = sorted(trial.beliefs, key=lambda belief: belief.from_ns)
        assert holder.lease_until_ns is None or late.sent_ns < holder.lease_until_ns
        assert late.judged_ns is not None
        assert late.sent_ns < contender.from_ns, "sent while nobody else was granted the key"
        if late.judged_ns > contender.from_ns:
            others_let_in.add(trial.parameters["meanwhile"])
            overtaken(judged, system)
        else:
            assert (judged.overtaken_writes, judged.lost_updates) == ((), 0)
            assert late.accepted
        assert judged.fence_faults == 0
    expected = {"cut_off"} if system in STAYS_WITH_ITS_HOLDER else {"waits"}
    assert others_let_in == expected | ({"releases"} if system == "postgres-row" else set())


def test_a_holder_that_gives_up_on_the_answer_lets_the_next_one_in(play: Play) -> None:
    """Also one whose lease is renewed all the while: it has not lost the lock, it gave it back too early."""
    history, checked = play("late-on-the-wire", "redis", full=True)
    assert checked.staging == ()
    released = [
        (trial, judged)
        for trial, judged in zip(history.trials, checked.trials, strict=True)
        if judged.parameters["meanwhile"] == "releases"
    ]
    assert len(released) == 2
    for trial, judged in released:
        assert trial.notes["holder.release"] == "released"
        assert judged.overlap_ns == 0
        overtaken(judged, "redis")


def outcomes(history: HazardHistory) -> dict[str, str]:
    return {
        str(trial.parameters["held_up"]): trial.notes["holder.acquire"].partition(":")[0] for trial in history.trials
    }


@pytest.mark.parametrize("system", ALL)
def test_a_late_request_blocks_for_a_lease_at_most_and_its_client_does_not_say_busy(play: Play, system: str) -> None:
    history, checked = play("late-request", system)
    assert checked.staging == ()
    slack_ms = SYSTEMS[system].client_class.capabilities.ttl_granularity_ms + 500
    for trial in history.trials:
        assert trial.measures["busy"] == 0, "nobody else held it"
        assert trial.measures["blocked_ms"] <= trial.ttl_ms + slack_ms
        if trial.parameters["held_up"] == "acquire":
            assert trial.measures["requests_held"] == (5 if system == "redlock" else 1)
    assert all(judged.overlap_ns == 0 for judged in checked.trials)
    said = outcomes(history)
    # `error` means that nothing of it is left or can come: then the key must have been free at once.
    for trial in history.trials:
        if said[str(trial.parameters["held_up"])] == "error":
            assert trial.measures["blocked_ms"] < trial.ttl_ms / 2, trial.notes
    if system == "redis":
        assert said == {"acquire": "error", "all": "unknown"}
