"""Clients whose servers are out of reach: the cable pulled while they hold, the reply lost while they ask."""

import pytest

from bench.systems.registry import SYSTEMS
from tests.hazards.scenarios.conftest import Play

# A holder knows by looking at its clock, which its process does every few ms, when it has a processor.
LOOKING_MS = 100


@pytest.mark.parametrize("system", ["redis", "redlock", "zookeeper", "etcd", "postgres-row"])
def test_a_cut_off_holder_is_safe_if_it_asks_and_leans_on_the_fence_if_it_does_not(play: Play, system: str) -> None:
    history, checked = play("cable-pulled", system)
    assert checked.staging == ()
    careful = 0
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        assert 0 < trial.measures["told_ms"] <= trial.measures["free_ms"] + LOOKING_MS, trial.measures
        assert judged.overlap_ns <= LOOKING_MS * 1e6
        assert trial.notes["contender.release"] == "released", "the holder, back again, has freed nothing"
        if trial.parameters["asks_first"]:
            careful += 1
            assert not judged.stale_writes, "it asked its client before it wrote"
            assert trial.notes["holder.write"].startswith("lost")
        else:
            refused = trial.parameters["fence"] is True and system != "redlock"  # that one has no token
            assert (judged.stale_accepted, judged.stale_refused) == (not refused, refused), trial.notes
            assert trial.measures["late_accepted"] == (not refused)
            assert (judged.lost_updates > 0) is not refused
    assert (careful, len(history.trials)) == (2, 4)
    if system == "postgres-row":
        # No lease, and no goodbye: the keepalives that the adapter asks for, in whole seconds. Their default is hours.
        assert all(2_000 <= trial.measures["free_ms"] < 6_000 for trial in history.trials)


@pytest.mark.parametrize("system", ["redis", "redlock", "zookeeper", "etcd"])
def test_a_lost_reply_is_never_busy_and_blocks_for_a_lease_at_most(play: Play, system: str) -> None:
    history, checked = play("swallowed-reply", system)
    assert checked.staging == ()
    slack_ms = SYSTEMS[system].client_class.capabilities.ttl_granularity_ms + 500
    for trial in history.trials:
        assert trial.measures["replies_lost"] >= 1, "the fault missed the acquire"
        assert trial.measures["busy"] == 0, trial.notes
        assert trial.measures["blocked_ms"] <= trial.ttl_ms + slack_ms
    assert all(judged.overlap_ns == 0 for judged in checked.trials)
    if system == "redis":
        outcomes = [trial.notes["holder.acquire"].partition(":")[0] for trial in history.trials]
        # Nothing of it is left, it has made sure. When the clean-up's reply is lost as well, it cannot know.
        assert outcomes == ["error", "error", "unknown", "unknown"]
