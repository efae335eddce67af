"""What the resource judged against its own rule, or against its own log; and what stayed without a verdict."""

from collections import Counter

from tests.judge.moments import of_key
from tests.judge.records import Fields, Trial


def fence_faults(trial: Trial) -> int:
    """Writes and presentations that the resource judged wrongly."""
    judged = [one for one in (*trial.writes, *trial.presentations) if one["accepted"] is not None]
    strict = trial.setting("rule") == "at_most"
    return sum(_faults(log, strict) for log in of_key(judged).values())


def _faults(log: list[Fields], strict: bool) -> int:
    times = Counter(one["order"] for one in log)
    return sum(not _as_the_log_says(one, log, times) or one["accepted"] is not _by_the_rule(one, strict) for one in log)


def _by_the_rule(one: Fields, strict: bool) -> bool:
    if not one["fence"] or one["token"] is None:
        return True
    highest = one["highest_before"]
    return bool(one["token"] > highest if strict else one["token"] >= highest)


def _as_the_log_says(one: Fields, log: list[Fields], times: Counter[int]) -> bool:
    """Is `highest_before` the greatest accepted token before it? After a gap it may be greater, never smaller; what
    the first attempt after the gap told is known from there on."""
    order = one["order"]
    if order < 1 or times[order] > 1:
        return False
    known = 0
    for other in log:
        if other["order"] >= order:
            continue
        if other["accepted"] and other["token"] is not None:
            known = max(known, other["token"])
        if _after_a_gap(other["order"], times) and times[other["order"]] == 1:
            known = max(known, other["highest_before"])
    if _after_a_gap(order, times):
        return bool(one["highest_before"] >= known)
    return bool(one["highest_before"] == known)


def _after_a_gap(order: int, times: Counter[int]) -> bool:
    """Is the attempt before it missing? Attempts that share an order, of which nobody knows the first, close no gap."""
    before = order - 1
    return before >= 1 and (before not in times or (times[before] > 1 and _after_a_gap(before, times)))


def without_verdict(trial: Trial) -> int:
    """Asks that ended `unknown`, and attempts that nobody answered: what may have happened."""
    unknown = sum(ask["outcome"] == "unknown" for ask in trial.asks)
    return int(unknown + sum(one["accepted"] is None for one in (*trial.writes, *trial.presentations)))
