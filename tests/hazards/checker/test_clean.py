"""Two thousand different histories in which nothing is wrong: none is accused."""

from hypothesis import given, settings

from bench.hazards.checker import check_trial
from bench.records.hazards import Belief
from tests.hazards.checker.choices import Choices, entropy
from tests.hazards.checker.clean import CleanStory

HISTORIES = 2_000
EXAMPLES = 3_000  # some are drawn twice


def _with_one_before(beliefs: tuple[Belief, ...]) -> int:
    """Grants with a token, without the first of each key (or the first few, told at one instant)."""
    first = {belief.key: belief.from_ns for belief in sorted(beliefs, key=lambda belief: -belief.from_ns)}
    return sum(belief.token is not None and belief.from_ns > first[belief.key] for belief in beliefs)


def test_no_clean_history_is_accused() -> None:
    seen = set()

    @settings(max_examples=EXAMPLES, deadline=None)
    @given(entropy(160))
    def nothing_is_found(choices: Choices) -> None:
        told = CleanStory(choices).tell()
        found = check_trial(told.trial)
        seen.add(hash(told.trial.model_dump_json()))
        assert found.overlaps == ()
        assert found.overlap_ns == 0
        assert found.stale_writes == ()
        assert found.overtaken_writes == ()
        assert found.lost_updates == 0
        assert found.token_faults == ()
        assert found.fence_faults == 0
        assert found.never_served == 0
        assert found.unknown == told.unknown
        assert found.grants == len(told.trial.beliefs)
        assert found.writes == len(told.trial.writes)
        if not told.late:
            assert found.token_pairs == _with_one_before(told.trial.beliefs), "grants in order were not compared"

    nothing_is_found()
    assert len(seen) >= HISTORIES, "too few different histories were judged"
