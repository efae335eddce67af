"""Fence faults: attempts that the resource judged against its own rule, or that contradict its own log.

The rule: with the fence on, a write with a token is accepted exactly if the token is not below the highest that the
resource had accepted (`rule` = `at_most` among the trial's parameters: exactly if it is above it). A write without a
token, or with the fence off, is always accepted. It is stated here once more, beside the resource that follows it, so
that a mistake in one of the two shows.

The log: each attempt has an order of its own, from 1, and `highest_before` is the greatest token over the accepted
attempts of smaller order. Where orders are missing (attempts whose answer never came, or of writers that are not in
this trial), a token that the history does not have may have been accepted among them: the first attempt after the gap
may show a higher one than the history explains, never a lower one, and from there on the count goes on exactly.

Attempts without a verdict are not judged. An attempt counts once, however much is wrong with it.
"""

from bench.hazards.checker.beliefs import by_key
from bench.hazards.resources.base import Rule
from bench.records.hazards import Trial, Write


def fence_faults_of(trial: Trial) -> int:
    """How many attempts the resource judged wrongly."""
    rule = Rule.AT_MOST if trial.parameters.get("rule") == Rule.AT_MOST else Rule.BELOW
    judged = by_key(write for write in trial.writes if write.accepted is not None)
    return sum(_faults_in_log(log, rule) for log in judged.values())


def _faults_in_log(log: list[Write], rule: Rule) -> int:
    faults, last_order, highest = 0, 0, 0
    for write in sorted(log, key=_place):
        gap = write.order > last_order + 1
        if write.order <= last_order:  # given twice, or below 1
            consistent = False
        elif gap:
            consistent = write.highest_before >= highest
            highest = max(highest, write.highest_before)
        else:
            consistent = write.highest_before == highest
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


def _place(write: Write) -> tuple[int, int, str]:
    """The resource's order; where it gave one twice, a fixed order, so that the count does not hang on the file's."""
    return write.order, write.sent_ns, repr(write)
