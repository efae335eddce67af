"""Tokens of grants of one key whose order the instants prove."""

from functools import cache

from tests.judge.moments import good_when_told, of_key
from tests.judge.records import Fields, Trial


def _proven_earlier(trial: Trial, one: Fields, other: Fields) -> bool:
    """Was `one` granted before `other`: told before that was asked for, or given up before that was told in time?"""
    if one["from_ns"] < other["from_ns"] and one["from_ns"] <= other["asked_ns"]:
        return True
    if one["until_ns"] is None or not good_when_told(trial, other):
        return False
    # Of two that share an instant neither is the earlier.
    return bool(one["from_ns"] < other["from_ns"] and one["until_ns"] <= other["from_ns"])


@cache
def pairs_and_falls(trial: Trial) -> tuple[int, int]:
    """Grants with a token that some grant is proven earlier than, and those of them whose token is not above all
    tokens of these."""
    pairs = falls = 0
    for beliefs in of_key([one for one in trial.beliefs if one["token"] is not None]).values():
        for other in beliefs:
            before = [one["token"] for one in beliefs if one is not other and _proven_earlier(trial, one, other)]
            if before:
                pairs += 1
                falls += other["token"] <= max(before)
    return pairs, falls
