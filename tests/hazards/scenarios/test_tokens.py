"""Tokens that lie are found on real servers, and those that do not are passed."""

from collections.abc import Mapping

import pytest

from bench.records.hazards import TrialChecked
from tests.hazards.scenarios.conftest import Play
from tests.thorough import case

# By system: the events after which a greater token is not what the next holder gets.
LYING: Mapping[str, set[str]] = {
    "redis": {"entry_deleted", "server_killed", "server_restarted_empty"},
    "redis-aof": {"entry_deleted", "server_restarted_empty"},
    "zookeeper": set(),
    "zookeeper-sequence-token": {"entry_deleted"},
    "etcd": set(),
    "postgres-row": set(),
    "postgres-row-unguarded": {"server_killed"},
    "postgres-row-counter": {"entry_deleted", "server_killed"},
    "postgres-row-xid": {"contended"},
    "postgres-advisory": set(),
    "dynamodb": {"entry_deleted"},
}
# Those whose source is of a kind that another's is, for `make thorough`.
OF_ONE_KIND = ("redis-aof", "zookeeper-sequence-token", "postgres-row-unguarded", "postgres-advisory")
# Fewer grants than a campaign's, and enough for what is found here: only the rare kinds need as many as there.
FEWER: Mapping[str, Mapping[str, int]] = {
    "redis": {"grants": 30, "erasures": 8, "kills": 3},
    "redis-aof": {"grants": 30, "erasures": 8, "kills": 3},
    "postgres-row-unguarded": {"grants": 30},
    "postgres-row-xid": {},
}
FEW: Mapping[str, int] = {"grants": 30, "erasures": 8}
SEEN_IN_EACH: Mapping[str, int] = {
    "contended": 150,
    "entry_deleted": 12,
    "server_killed": 1,
    "server_restarted_empty": 1,
}


def by_event(trials: tuple[TrialChecked, ...]) -> dict[str, TrialChecked]:
    return {str(trial.parameters["event"]): trial for trial in trials}


@pytest.mark.parametrize("system", [case(name, rare=name in OF_ONE_KIND) for name in LYING])
def test_the_lying_token_sources_are_found_and_the_others_passed(play: Play, system: str) -> None:
    _, checked = play("token-sources", system, **FEWER.get(system, FEW))
    assert checked.staging == ()
    events = by_event(checked.trials)
    assert {event for event, trial in events.items() if trial.token_faults} == LYING[system]
    for event, trial in events.items():
        assert trial.token_pairs >= SEEN_IN_EACH[event], f"{event}: too few grants to say anything"
        assert trial.overlap_ns == 0, f"{event}: two holders at once, so that the tokens' order proves nothing"


def test_a_system_without_tokens_has_none_to_judge(play: Play) -> None:
    _, checked = play("token-sources", "redlock")
    (contended,) = checked.trials
    assert (contended.grants, contended.token_pairs, contended.token_faults) == (30, 0, ())


def test_a_number_drawn_before_the_lock_is_won_comes_late_and_small(play: Play) -> None:
    history, checked = play("naive-fence", "redis-naive-fence")
    assert checked.staging == ()
    (trial,) = checked.trials
    rounds = 10
    assert len(trial.token_faults) == rounds
    # The later holder is the rightful one, and is refused; the earlier one wrote and was gone before.
    refused = [write for write in history.trials[0].writes if write.accepted is False]
    assert [write.actor for write in refused] == ["slow"] * rounds
    assert trial.overlap_ns == 0


def test_a_number_drawn_by_the_winner_alone_is_the_greatest(play: Play) -> None:
    history, checked = play("naive-fence", "redis")
    assert checked.staging == ()
    (trial,) = checked.trials
    assert (trial.token_faults, trial.token_pairs) == ((), 19)
    assert all(write.accepted for write in history.trials[0].writes)


def test_of_etcds_revisions_only_the_create_revision_stays_with_its_holder(play: Play) -> None:
    history, checked = play("mod-revision", "etcd")
    assert checked.staging == ()
    (trial,) = history.trials
    measures = trial.measures
    assert measures["create_revision_after"] == measures["create_revision_before"]
    assert measures["mod_revision_after"] > measures["mod_revision_before"]
    assert trial.beliefs[0].token == measures["create_revision_before"]
    assert checked.trials[0].token_faults == ()
