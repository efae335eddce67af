"""Many random schedules against the rules that a lock should keep, and the smallest schedule that breaks each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from bench.hazards.checker import check_trial
from bench.records.hazards import Trial, TrialChecked
from bench.simulator.history import Attempt, History
from bench.simulator.schedules import CLIENTS, GAPS, LASTING, LENGTHS, TTL_NS, Setting, Step, carried_out, drawn

_SHRUNK = 40  # so many that break a rule are made smaller; of the others only those that are shorter already


def two_holders(history: History) -> bool:
    """Do two clients believe at the same time?"""
    latest_ns = -1
    for belief in history.beliefs:  # in order of their report
        until_ns = _EVER if belief.until_ns is None else belief.until_ns
        if until_ns > belief.from_ns:
            if latest_ns > belief.from_ns:
                return True
            latest_ns = max(latest_ns, until_ns)
    return False


def lost_update(history: History) -> bool:
    """Was a write accepted that overwrote what its writer had not read?"""
    return any(
        one.accepted and one.value is not None and one.value_before != one.value_read for one in history.attempts
    )


def stale_write(history: History) -> bool:
    """Was a write accepted after the resource had accepted something of a later holder?"""
    reported = {belief.grant: number for number, belief in enumerate(history.beliefs)}
    latest = -1
    for one in sorted((one for one in history.attempts if one.accepted), key=_order):
        number = reported[one.grant]
        if one.value is not None and number < latest:
            return True
        latest = max(latest, number)
    return False


def falling_token(history: History) -> bool:
    """Has a grant no greater token than one before it?"""
    beliefs = history.beliefs
    for number, later in enumerate(beliefs):
        if later.token is None:
            return False
        for earlier in beliefs[:number]:
            in_time = later.lease_until_ns is None or later.lease_until_ns > later.from_ns
            over = earlier.until_ns is not None and max(earlier.until_ns, earlier.from_ns + 1) <= later.from_ns
            if (earlier.from_ns <= later.asked_ns or (over and in_time)) and (earlier.token or 0) >= later.token:
                return True
    return False


def misjudged(history: History) -> bool:
    """Did the resource judge against its own rule?"""
    highest = 0
    for one in sorted((one for one in history.attempts if one.order), key=_order):
        if one.highest_before != highest:
            return True
        if one.accepted:
            highest = max(highest, one.token or 0)
    return False


def _order(attempt: Attempt) -> int:
    return attempt.order


_EVER = 2**62
RULES: Mapping[str, Callable[[History], bool]] = {
    "two holders": two_holders,
    "stale write": stale_write,
    "lost update": lost_update,
    "falling token": falling_token,
    "misjudged write": misjudged,
}


@dataclass(frozen=True, slots=True)
class Found:
    """How often a rule was broken, and the smallest schedule that breaks it: none, where none was found."""

    rule: str
    broken: int
    smallest: tuple[Step, ...] | None


def search(
    setting: Setting, schedules: int, seed: int, progress: Callable[[int], None] = lambda _: None
) -> dict[str, Found]:
    """Play so many schedules. The same seed gives the same findings."""
    random = Random(seed)
    broken = dict.fromkeys(RULES, 0)
    smallest: dict[str, tuple[Step, ...]] = {}
    for number in range(schedules):
        steps = drawn(random, setting)
        history = carried_out(steps, setting)
        for rule, breaks in RULES.items():
            if breaks(history):
                broken[rule] += 1
                if broken[rule] <= _SHRUNK or len(steps) < len(smallest[rule]):
                    shrunk = smaller(steps, setting, breaks)
                    if rule not in smallest or len(shrunk) < len(smallest[rule]):
                        smallest[rule] = shrunk
        if number % 1_000 == 999:
            progress(number + 1)
    plain = {rule: _plainer(steps, setting, RULES[rule]) for rule, steps in smallest.items()}
    return {rule: Found(rule, broken[rule], plain.get(rule)) for rule in RULES}


def smaller(steps: Sequence[Step], setting: Setting, breaks: Callable[[History], bool]) -> tuple[Step, ...]:
    """The same without every step that the break can do without, clients named in their order."""
    kept = list(steps)
    number = 0
    while number < len(kept):
        for passes in (True, False):  # its time may be needed although the step is not
            fewer = kept[:number] + kept[number + 1 :]
            if passes and number < len(fewer):
                fewer[number] = fewer[number]._replace(gap=fewer[number].gap + kept[number].gap)
            if breaks(carried_out(fewer, setting)):
                kept, number = fewer, -1  # from the start: what was needed may not be any more
                break
        number += 1
    names = dict(zip(dict.fromkeys(step.client for step in kept), CLIENTS, strict=False))
    return tuple(step._replace(client=names[step.client]) for step in kept)


def _plainer(steps: tuple[Step, ...], setting: Setting, breaks: Callable[[History], bool]) -> tuple[Step, ...]:
    """The same with the shortest times that still break the rule."""
    for number, step in enumerate(steps):
        shorter = [step._replace(gap=gap) for gap in GAPS if gap < step.gap]
        if step.do in LASTING:
            shorter += [step._replace(amount=amount) for amount in LENGTHS if amount < step.amount]
        for plain in shorter:
            changed = (*steps[:number], plain, *steps[number + 1 :])
            if breaks(carried_out(changed, setting)):
                return _plainer(changed, setting, breaks)
    return steps


def shown(steps: Sequence[Step], setting: Setting) -> tuple[Trial, TrialChecked]:
    """A schedule as a trial, and what the lab's own checker finds in it."""
    history = carried_out(steps, setting, tells_faults=True)
    ended_ns = _end_ns(history)
    trial = history.trial(setting.fence, TTL_NS, ended_ns, setting.parameters)
    return trial, check_trial(trial)


def _end_ns(history: History) -> int:
    ends = [belief.until_ns or belief.from_ns for belief in history.beliefs]
    ends += [asking.answered_ns or asking.asked_ns for asking in history.asks]
    ends += [one.answered_ns or one.judged_ns or one.sent_ns for one in history.attempts]
    ends += [window.ended_ns or window.began_ns for window in history.faults]
    return max(ends, default=0) + TTL_NS // 10
