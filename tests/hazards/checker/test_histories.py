"""Whole histories: the page's scenario with all its numbers, runs of several trials, and histories that are refused."""

from typing import Any

import pytest

from bench.hazards.checker import check_history, check_trial
from bench.records.hazards import EndOfBelief, HazardHistory, Overlap, StaleWrite, Trial
from tests.hazards.checker.records import ask, belief, fault, presentation, trial, unanswered, write

S = 1_000_000_000


def page(fence: bool) -> Trial:
    """TTL 5 s, pause 8 s (Kleppmann 2016): the holder goes on for a moment, in a belief that is 3 s out of date."""
    holder = belief(
        "old", 1 * S, 10 * S, actor="holder", token=33, ttl_ms=5_000, lease_until_ns=6 * S, ended_by=EndOfBelief.LOST
    )
    contender = belief(
        "new", 6 * S + 5, 12 * S, actor="contender", token=34, asked_ns=2 * S, ttl_ms=5_000, lease_until_ns=14 * S
    )
    writes = [
        write("new", 7 * S, actor="contender", token=34, fence=fence, order=1),
        write(
            "old",
            9 * S + 6,
            actor="holder",
            token=33,
            fence=fence,
            order=2,
            highest_before=34,
            accepted=not fence,
            value_before=1,
        ),
    ]
    return trial(
        name=f"fence {fence}",
        ttl_ms=5_000,
        ended_ns=20 * S,
        parameters={"fence": fence},
        asks=[
            ask(S, 1 * S, "acquired", actor="holder"),
            ask(2 * S, 6 * S + 5, "acquired", actor="contender"),
        ],
        beliefs=[holder, contender],
        writes=writes,
        faults=[fault("pause", "holder", int(1.5 * S), int(9.5 * S))],
    )


@pytest.mark.parametrize("fence", [False, True])
def test_the_page(fence: bool) -> None:
    found = check_trial(page(fence))
    between = Overlap(key="k", earlier="old", later="new", from_ns=6 * S + 5, until_ns=10 * S)
    assert found.name == f"fence {fence}"
    assert found.parameters == {"fence": fence}
    assert found.overlaps == (between,)
    assert found.overlap_ns == 4 * S - 5
    assert found.stale_writes == (StaleWrite(grant="old", order=2, accepted=not fence, by_token=True),)
    assert found.lost_updates == (0 if fence else 1)
    assert (found.token_pairs, found.token_faults) == (1, ()), "the contender asked when the holder had been told"
    assert (found.fence_faults, found.never_served, found.unknown) == (0, 0, 0)
    assert (found.grants, found.writes) == (2, 2)


def test_a_run_is_judged_trial_by_trial_and_its_staging_passed_on() -> None:
    history = HazardHistory(started_at="2026-01-01T00:00:00Z", trials=(page(False), page(True)), facts=None, source="")
    checked = check_history(history, ["the pause was not confirmed"])
    assert checked.trials == (check_trial(page(False)), check_trial(page(True)))
    assert checked.staging == ("the pause was not confirmed",)
    assert check_history(history.model_copy(update={"trials": ()}), []).trials == ()


def test_an_empty_trial_has_nothing_in_it() -> None:
    found = check_trial(trial())
    assert found.model_dump(exclude={"name", "parameters"}) == {
        **dict.fromkeys(("overlaps", "stale_writes", "overtaken_writes", "token_faults"), ()),
        **dict.fromkeys(
            (
                "grants",
                "writes",
                "overlap_ns",
                "lost_updates",
                "token_pairs",
                "fence_faults",
                "never_served",
                "unknown",
            ),
            0,
        ),
    }


def test_what_may_have_happened_is_counted() -> None:
    asks = [ask(0, 1, "unknown"), ask(0, 1, "unknown", waited=False), ask(0, 1, "lost"), ask(0, None, "", waited=False)]
    writes = [unanswered("a", 1), unanswered("a", 2), write("a", 3, order=3)]
    assert check_trial(trial(asks=asks, beliefs=[belief("a", 0, 9)], writes=writes)).unknown == 4


@pytest.mark.parametrize(
    ("events", "about"),
    [
        ({"writes": [write("ghost", 5)]}, "ghost"),
        ({"beliefs": [belief("a", 0, 9)], "writes": [write("a", 5, key="other")]}, "wrote other under grant a"),
        (
            {"beliefs": [belief("a", 0, 9)], "writes": [write("a", 5, judged_ns=4)]},
            "wrote at 5 was judged before, at 4",
        ),
        ({"presentations": [presentation("ghost", 5)]}, "read k under grant ghost"),
        ({"beliefs": [belief("a", 0, 9), belief("a", 20, 30)]}, "two beliefs in grant a"),
        ({"beliefs": [belief("a", 9, 8)]}, "grant a"),
        ({"beliefs": [belief("a", 9, 10, asked_ns=10)]}, "grant a"),
        ({"beliefs": [belief("a", 101, None)]}, "grant a"),
        ({"asks": [ask(9, 8, "busy")]}, "waiter was answered before it asked"),
    ],
)
def test_a_history_that_contradicts_itself_is_refused(events: dict[str, Any], about: str) -> None:
    with pytest.raises(ValueError, match=f"trial by hand: .*{about}"):
        check_trial(trial(**events))
    with pytest.raises(ValueError, match=about):
        check_history(HazardHistory(started_at="", trials=(trial(**events),), facts=None, source="none"), [])
