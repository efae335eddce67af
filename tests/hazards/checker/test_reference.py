"""The sweeps find what the definitions say, read word by word over all pairs of events; whatever the history."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.hazards.checker import check_trial
from tests.hazards.checker import reference
from tests.hazards.checker.chaos import Chaos
from tests.hazards.checker.choices import Choices, entropy
from tests.hazards.checker.clean import CleanStory
from tests.hazards.checker.plants import PLANTERS, Planter


def test_any_history_is_judged_by_the_definitions() -> None:
    found_in: Counter[str] = Counter()

    @settings(max_examples=1_500, deadline=None)
    @given(entropy(9))
    def as_defined(choices: Choices) -> None:
        trial = Chaos(choices).trial()
        found = check_trial(trial)
        assert found == reference.judged(trial)
        found_in.update(name for name, value in found if value)
        found_in["late_read"] += found.late_read > 0

    as_defined()
    of_writes = ("stale_writes", "overtaken_writes", "late_read", "lost_updates")
    for name in ("overlaps", *of_writes, "token_faults", "fence_faults", "never_served", "unknown"):
        assert found_in[name] >= 50, f"hardly any of these histories has {name}: this test compares nothing"


@settings(max_examples=400, deadline=None)
@given(entropy(160), entropy(12), st.sampled_from(PLANTERS))
def test_a_spoilt_history_is_judged_by_the_definitions(choices: Choices, where: Choices, planter: Planter) -> None:
    trial, _ = planter(CleanStory(choices).tell(), where)
    assert check_trial(trial) == reference.judged(trial)


@settings(max_examples=300, deadline=None)
@given(entropy(9))
def test_every_overlap_is_covered(choices: Choices) -> None:
    """At most one overlap a grant is reported; a grant without one overlaps nothing that was told before it."""
    trial = Chaos(choices).trial()
    reported = {overlap.later for overlap in check_trial(trial).overlaps}
    spans = [
        (belief.key, belief.from_ns, trial.ended_ns if belief.until_ns is None else belief.until_ns, belief)
        for belief in trial.beliefs
    ]
    overlapping = {
        max(one, other, key=lambda belief: (belief.from_ns, belief.asked_ns, belief.grant)).grant
        for key, begin, end, one in spans
        for other_key, other_begin, other_end, other in spans
        if one is not other and key == other_key and max(begin, other_begin) < min(end, other_end)
    }
    assert reported == overlapping
