"""Fence faults: attempts that the resource judged against its own rule, or that contradict its own log.

The rule: with the fence on, a write with a token is accepted exactly if the token is not below the highest that the
resource had accepted (`rule` = `at_most` among the trial's parameters: exactly if it is above it). A write without a
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
from bench.records.hazards import Trial, Write


def fence_faults_of(trial: Trial) -> int:
    """How many attempts the resource judged wrongly."""
    rule = Rule.AT_MOST if trial.parameters.get("rule") == Rule.AT_MOST else Rule.BELOW
    judged = by_key(write for write in trial.writes if write.accepted is not None)
    return sum(_faults_in_log(log, rule) for log in judged.values())


def _faults_in_log(log: list[Write], rule: Rule) -> int:
    given = Counter(write.order for write in log)
    faults, last_order, highest, exact = 0, 0, 0, True
    for write in sorted(log, key=lambda write: write.order):
        if write.order > last_order + 1:
            exact = False
        if write.order < 1 or given[write.order] > 1:
            consistent = False
        elif exact:
            consistent = write.highest_before == highest
        else:
            consistent = write.highest_before >= highest
            highest, exact = max(highest, write.highest_before), True
        if not consistent or write.accepted is not _may_pass(write, rule):
            faults += 1
        if write.accepted and write.token is not None:
            highest = max(highest, write.token)
        last_order = max(last_order, write.order)
    return faults


def _may_pass(write: Write, rule: Rule) -> bool:
    if not write.fence or write.token is None:
        return True
    if rule is Rule.AT_MOST:
        return write.token > write.highest_before
    return write.token >= write.highest_before
