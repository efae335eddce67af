"""The judge and the history checker agree on generated histories, which hold every kind of violation."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.hazards.checker import check_trial
from bench.records.hazards import Trial, TrialChecked
from tests.hazards.checker.chaos import Chaos
from tests.hazards.checker.choices import Choices, entropy
from tests.hazards.checker.clean import CleanStory
from tests.hazards.checker.plants import PLANTERS, Planter
from tests.judge import writes
from tests.judge.fence import fence_faults, without_verdict
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Run
from tests.judge.records import Trial as Judged
from tests.judge.waiting import never_served


def _judged(trial: Trial) -> dict[str, int]:
    one = Judged(Run({"parameters": {}}, {}, False), trial.model_dump(mode="json"))
    late, stale = writes.late(one), writes.stale(one)
    pairs, falls = pairs_and_falls(one)
    return {
        "overlap_ns": two_at_once_ns(one),
        "stale accepted": writes.accepted(stale),
        "stale refused": writes.refused(stale),
        "overtaken": len(late) - len(stale),
        "late and read": writes.late_read(one),
        "lost updates": writes.lost_updates(one),
        "token pairs": pairs,
        "token falls": falls,
        "fence faults": fence_faults(one),
        "never served": never_served(one),
        "unknown": without_verdict(one),
    }


def _checked(found: TrialChecked) -> dict[str, int]:
    return {
        "overlap_ns": found.overlap_ns,
        "stale accepted": found.stale_accepted,
        "stale refused": found.stale_refused,
        "overtaken": len(found.overtaken_writes),
        "late and read": found.late_read,
        "lost updates": found.lost_updates,
        "token pairs": found.token_pairs,
        "token falls": len(found.token_faults),
        "fence faults": found.fence_faults,
        "never served": found.never_served,
        "unknown": found.unknown,
    }


def test_any_history_is_counted_alike() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=1_000, deadline=None)
    @given(entropy(9))
    def alike(choices: Choices) -> None:
        trial = Chaos(choices).trial()
        judged = _judged(trial)
        assert judged == _checked(check_trial(trial))
        seen.update(name for name, value in judged.items() if value)

    alike()
    assert all(seen[name] >= 30 for name in seen), seen
    assert len(seen) == 11, "some kind of violation was in no history"


@settings(max_examples=300, deadline=None)
@given(entropy(160), entropy(12), st.sampled_from(PLANTERS))
def test_a_spoilt_history_is_counted_alike(choices: Choices, where: Choices, planter: Planter) -> None:
    trial, _ = planter(CleanStory(choices).tell(), where)
    assert _judged(trial) == _checked(check_trial(trial))
