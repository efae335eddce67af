"""Fence faults: attempts that the resource judged against its own rule, or that contradict its own log.

An attempt is a write or a presentation: both are judged, and both raise the highest token when they are accepted.

The rule: with the fence on, an attempt with a token is accepted exactly if the token is not below the highest that the
resource had accepted (`rule` = `at_most` among the trial's parameters: exactly if it is above it). One without a
token, or with the fence off, is always accepted. It is stated here once more, beside the resource that follows it, so
that a mistake in one of the two shows.

The log: each attempt has an order of its own, from 1, and `highest_before` is the greatest token over the accepted
attempts of smaller order. Where orders are missing (attempts whose answer never came, or of writers that are not in
this trial), a token that the history does not have may have been accepted among them: the first attempt after the gap
may show a higher one than the history explains, never a lower one, and from there on the count goes on exactly. All
attempts that share one order are faults, since the log says nothing of which came first.

Attempts without a verdict are not judged. An attempt counts once, however much is wrong with it.
"""

from collections import Counter

from bench.hazards.checker.beliefs import by_key
from bench.hazards.resources.base import Rule
from bench.records.hazards import Presentation, Trial, Write

_Attempt = Write | Presentation


def fence_faults_of(trial: Trial) -> int:
    """How many attempts the resource judged wrongly."""
    rule = Rule.AT_MOST if trial.parameters.get("rule") == Rule.AT_MOST else Rule.BELOW
    attempts: tuple[_Attempt, ...] = (*trial.writes, *trial.presentations)
    judged = by_key(one for one in attempts if one.accepted is not None)
    return sum(_faults_in_log(log, rule) for log in judged.values())


def _faults_in_log(log: list[_Attempt], rule: Rule) -> int:
    given = Counter(one.order for one in log)
    faults, last_order, highest, exact = 0, 0, 0, True
    for one in sorted(log, key=lambda one: one.order):
        if one.order > last_order + 1:
            exact = False
        if one.order < 1 or given[one.order] > 1:
            consistent = False
        elif exact:
            consistent = one.highest_before == highest
        else:
            consistent = one.highest_before >= highest
            highest, exact = max(highest, one.highest_before), True
        if not consistent or one.accepted is not _may_pass(one, rule):
            faults += 1
        if one.accepted and one.token is not None:
            highest = max(highest, one.token)
        last_order = max(last_order, one.order)
    return faults


def _may_pass(attempt: _Attempt, rule: Rule) -> bool:
    if not attempt.fence or attempt.token is None:
        return True
    if rule is Rule.AT_MOST:
        return attempt.token > attempt.highest_before
    return attempt.token >= attempt.highest_before
