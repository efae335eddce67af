"""A suspended machine: its clock stood still, the lease did not. Who wakes up as the holder, and would it show?"""

import pytest

from bench.hazards.scenario import ActorPart, load_scenario
from bench.records.hazards import HazardHistory, Scalar
from tests.hazards.scenarios.conftest import Play

pytestmark = pytest.mark.servers
SYSTEMS = load_scenario("suspended-client").systems
PLAYS = 4  # of the control: in a few trials the network is faster than the first write
# PostgreSQL enforces no lease: a suspended holder goes on to hold the row, and nobody else is granted it.
LEASED = tuple(name for name in SYSTEMS if name != "postgres-row")


def staged(history: HazardHistory) -> None:
    """Was it as the scenario wants it: stopped for so long, and the holder's own clock behind by as much?"""
    assert history.staging == ()
    for trial in history.trials:
        assert trial.measures["pause_ms"] >= 1.6 * trial.ttl_ms
        behind_ms = float(trial.notes["holder.suspend"].removeprefix("its monotonic clock is ").partition(" ms")[0])
        # It is set back by the pause so far, and goes on when that is done.
        assert behind_ms == pytest.approx(trial.measures["pause_ms"], rel=0.05)


@pytest.mark.parametrize("system", SYSTEMS)
def test_nobody_wakes_up_as_the_holder(play: Play, system: str) -> None:
    history, checked = play("suspended-client", system)
    staged(history)
    for trial, judged in zip(history.trials, checked.trials, strict=True):
        assert not judged.stale_writes
        holder = next(one for one in trial.beliefs if one.actor == "holder")
        contender = next(one for one in trial.beliefs if one.actor == "contender")
        if system in LEASED:
            assert holder.ended_by == "lost"
            assert contender.from_ns < holder.until_ns, "another was granted the lock in its sleep"
        else:
            assert holder.ended_by == "released"
            assert contender.from_ns >= holder.until_ns


@pytest.mark.parametrize("system", LEASED)
def test_a_client_whose_clock_stood_still_is_caught(play: Play, system: str) -> None:
    """The control: with the clock that adapters had, it believes on, and its write reaches the resource."""
    caught: dict[Scalar, list[bool]] = {}
    for _ in range(PLAYS):
        history, checked = play("suspended-client", system, actors={"holder": ActorPart(suspension_uncounted=True)})
        staged(history)
        for trial, judged in zip(history.trials, checked.trials, strict=True):
            if judged.stale_writes:
                caught[trial.parameters["fence"]] = [one.accepted for one in judged.stale_writes]
            else:  # a keep-alive was answered before the write: the servers told it, and its clock was not asked
                assert [one.ended_by for one in trial.beliefs if one.actor == "holder"] == ["lost"]
        if len(caught) == 2:
            break
    # redlock has no token to be refused by
    assert caught == {False: [True], True: [system == "redlock"]}
