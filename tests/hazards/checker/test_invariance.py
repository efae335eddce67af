"""What is found hangs neither on the order of the records nor on where the clock began."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.hazards.checker import check_trial
from bench.records.hazards import Trial
from tests.hazards.checker.chaos import Chaos
from tests.hazards.checker.choices import Choices, entropy

EVENTS = ("asks", "beliefs", "writes", "presentations", "faults")


def shuffled(trial: Trial, dice: random.Random) -> Trial:
    fields = {name: list(getattr(trial, name)) for name in EVENTS}
    for events in fields.values():
        dice.shuffle(events)
    return trial.model_copy(update={name: tuple(events) for name, events in fields.items()})


def shifted(trial: Trial, by_ns: int) -> Trial:
    """Every instant of the trial moved by as much."""

    def moved(tree: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value + by_ns if name.endswith("_ns") and value is not None else value for name, value in tree.items()
        }

    tree = moved(trial.model_dump())
    return Trial.model_validate({**tree, **{name: [moved(event) for event in tree[name]] for name in EVENTS}})


@settings(max_examples=500, deadline=None)
@given(entropy(9), st.randoms(use_true_random=False))
def test_the_order_of_the_records_does_not_matter(choices: Choices, dice: random.Random) -> None:
    trial = Chaos(choices).trial()
    assert check_trial(shuffled(trial, dice)) == check_trial(trial)


@settings(max_examples=300, deadline=None)
@given(entropy(9), st.integers(-(10**9), 10**18))
def test_the_zero_of_the_clock_does_not_matter(choices: Choices, by_ns: int) -> None:
    trial = Chaos(choices).trial()
    found, found_later = check_trial(trial), check_trial(shifted(trial, by_ns))
    moved = tuple(
        overlap.model_copy(update={"from_ns": overlap.from_ns + by_ns, "until_ns": overlap.until_ns + by_ns})
        for overlap in found.overlaps
    )
    assert found_later == found.model_copy(update={"overlaps": moved})


@settings(max_examples=300, deadline=None)
@given(entropy(9))
def test_keys_do_not_meddle_with_one_another(choices: Choices) -> None:
    trial = Chaos(choices).trial()
    whole = check_trial(trial)
    parts = [
        check_trial(
            trial.model_copy(
                update={
                    name: tuple(event for event in getattr(trial, name) if event.key == key)
                    for name in ("asks", "beliefs", "writes", "presentations")
                }
            )
        )
        for key in ("a", "b")
    ]
    assert whole.overlaps == parts[0].overlaps + parts[1].overlaps
    assert whole.token_faults == parts[0].token_faults + parts[1].token_faults
    for name in ("overlap_ns", "lost_updates", "token_pairs", "fence_faults", "never_served", "unknown"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts), name
    for name in ("stale_writes", "overtaken_writes"):
        assert sorted(map(repr, getattr(whole, name))) == sorted(
            repr(one) for part in parts for one in getattr(part, name)
        )
