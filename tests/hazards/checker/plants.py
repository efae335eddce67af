"""One violation put into a clean history, and what exactly must then be found.

Each planter takes a history that was told in full and choices, and returns the spoilt trial with the findings that it
must have beside those of the clean one. It refuses, by `assume`, a history that has no place for its violation.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import assume

from bench.records.hazards import (
    Ask,
    Belief,
    EndOfBelief,
    FaultWindow,
    Overlap,
    Presentation,
    StaleWrite,
    TokenFault,
    Trial,
    Write,
)
from tests.hazards.checker.choices import TTL_MS, TTL_NS, Choices
from tests.hazards.checker.clean import UNANSWERED, Told

Planted = tuple[Trial, dict[str, Any]]
Planter = Callable[[Told, Choices], Planted]


def _end_ns(trial: Trial, belief: Belief) -> int:
    return trial.ended_ns if belief.until_ns is None else belief.until_ns


def _swapped(trial: Trial, field: str, old: Any, new: Any) -> Trial:
    return trial.model_copy(update={field: tuple(new if one is old else one for one in getattr(trial, field))})


def _added(trial: Trial, field: str, new: Any) -> Trial:
    return trial.model_copy(update={field: (*getattr(trial, field), new)})


def _told(belief: Belief) -> tuple[int, int, str]:
    return belief.from_ns, belief.asked_ns, belief.grant


def _overlap(trial: Trial, earlier: Belief, later: Belief, length_ns: int) -> Planted:
    overlap = Overlap(
        key=later.key,
        earlier=earlier.grant,
        later=later.grant,
        from_ns=later.from_ns,
        until_ns=later.from_ns + length_ns,
    )
    return trial, {"overlaps": (overlap,), "overlap_ns": length_ns}


def intruder(told: Told, choices: Choices) -> Planted:
    """A second client, or the holder's own second grant, believes while a grant stands."""
    holds = [one for one in told.trial.beliefs if _end_ns(told.trial, one) - one.from_ns >= 2]
    assume(holds)
    holder = choices.of(holds)
    ends_ns = _end_ns(told.trial, holder)
    from_ns = holder.from_ns + 1 + choices.below(ends_ns - holder.from_ns - 1)
    until_ns = from_ns + 1 + choices.below(ends_ns - from_ns)
    second = holder.model_copy(
        update={
            "actor": choices.of((holder.actor, "intruder")),
            "grant": "intruder",
            "token": None,
            "from_ns": from_ns,
            "until_ns": until_ns,
        }
    )
    return _overlap(_added(told.trial, "beliefs", second), holder, second, until_ns - from_ns)


def overstayer(told: Told, choices: Choices) -> Planted:
    """A holder believes on after the next one was told."""
    pairs = []
    for holder in told.trial.beliefs:
        others = [b for b in told.trial.beliefs if b.key == holder.key and b is not holder]
        of_length = sorted((b for b in others if _end_ns(told.trial, b) > b.from_ns), key=_told)
        after = [b for b in of_length if b.from_ns > holder.from_ns]
        if after and all(_end_ns(told.trial, b) <= holder.from_ns for b in of_length if b not in after):
            pairs.append((holder, after[0]))
    assume(pairs)
    holder, following = choices.of(pairs)
    length_ns = 1 + choices.below(_end_ns(told.trial, following) - following.from_ns)
    staying = holder.model_copy(update={"until_ns": following.from_ns + length_ns, "ended_by": EndOfBelief.LOST})
    return _overlap(_swapped(told.trial, "beliefs", holder, staying), holder, following, length_ns)


def stale_write(told: Told, choices: Choices) -> Planted:
    """A holder writes after a later grant was told; the resource judges the write by its own rule, or never gets it."""
    pairs = _successions(told.trial)
    assume(pairs)
    writer, later = choices.of(pairs)
    sent_ns = later.from_ns + 1 + choices.step_ns()
    return _late_write(told, choices, "stale_writes", writer, not choices.chance(4), sent_ns=sent_ns)


def overtaken_write(told: Told, choices: Choices) -> Planted:
    """A holder writes in time, and the write is judged only after a later grant was told."""
    successions = _successions(told.trial)
    assume(successions)
    writer, _ = choices.of(successions)
    next_told_ns = min(later.from_ns for one, later in successions if one is writer)
    sent_ns = writer.from_ns + choices.below(next_told_ns - writer.from_ns + 1)
    judged_ns = next_told_ns + 1 + choices.step_ns()
    return _late_write(told, choices, "overtaken_writes", writer, True, sent_ns=sent_ns, judged_ns=judged_ns)


def _successions(trial: Trial) -> list[tuple[Belief, Belief]]:
    return [(a, b) for a in trial.beliefs for b in trial.beliefs if a.key == b.key and a.from_ns < b.from_ns]


def _late_write(told: Told, choices: Choices, found_as: str, writer: Belief, arrives: bool, **instants: int) -> Planted:
    """It comes last, or in the midst of the log, where it leaves value and highest token as they were."""
    trial = told.trial
    log = sorted((one for one in _judged(trial) if one.key == writer.key), key=lambda one: one.order)
    fence = not choices.chance(3)
    place = choices.below(len(log) + 1)
    highest = value = 0
    if place:
        before = log[place - 1]
        highest = max(before.highest_before, before.token or 0 if before.accepted else 0)
        value = _value_after(before)
    order = log[place - 1].order + 1 if place else 1
    low = writer.token is not None and writer.token < highest
    equal = writer.token == highest and "rule" in trial.parameters
    accepted = not (fence and (low or equal))
    raises = accepted and writer.token is not None and writer.token > highest
    assume(not arrives or place == len(log) or not raises)
    verdict = {"order": order, "accepted": accepted, "highest_before": highest, "value_before": value}
    late = Write(
        actor=writer.actor,
        key=writer.key,
        grant=writer.grant,
        token=writer.token,
        answered_ns=None,
        fence=fence,
        value_read=value,
        value_written=value,
        **instants,
        **(verdict if arrives else UNANSWERED),
    )
    if arrives:
        moved = {id(one): one.model_copy(update={"order": one.order + 1}) for one in log[place:]}
        for kind in ("writes", "presentations"):
            trial = trial.model_copy(update={kind: tuple(moved.get(id(one), one) for one in getattr(trial, kind))})
    found = StaleWrite(
        grant=writer.grant,
        order=order if arrives else 0,
        accepted=accepted if arrives else None,
        by_token=arrives and low,
        read_by_next=arrives and accepted and _read_after(trial, writer, order),
    )
    return _added(trial, "writes", late), {found_as: (found,), "unknown": told.unknown + (not arrives)}


def _read_after(trial: Trial, writer: Belief, order: int) -> bool:
    """Did all that was accepted of later holders begin with a presentation, behind this order?"""
    later = [one.grant for one in trial.beliefs if one.key == writer.key and one.from_ns > writer.from_ns]
    of_grants = [[one for one in _judged(trial) if one.accepted and one.grant == grant] for grant in later]
    firsts = [min(of_grant, key=lambda one: one.order) for of_grant in of_grants if of_grant]
    return bool(firsts) and all(isinstance(one, Presentation) and one.order > order for one in firsts)


def _judged(trial: Trial) -> list[Write | Presentation]:
    """What the resource's log has, of all keys."""
    return [one for one in (*trial.writes, *trial.presentations) if one.accepted is not None]


def _list_of(attempt: Write | Presentation) -> str:
    return "writes" if isinstance(attempt, Write) else "presentations"


def _value_after(attempt: Write | Presentation) -> int:
    if isinstance(attempt, Presentation):
        return attempt.value_read
    return attempt.value_written if attempt.accepted else attempt.value_before


def lost_update(told: Told, choices: Choices) -> Planted:
    """A writer builds on a value that is no more."""
    accepted = [write for write in told.trial.writes if write.accepted]
    assume(accepted)
    write = choices.of(accepted)
    misread = write.model_copy(update={"value_read": write.value_before + choices.of((-1, 1, 7))})
    return _swapped(told.trial, "writes", write, misread), {"lost_updates": 1}


def token_order(told: Told, choices: Choices) -> Planted:
    """A grant gets the token of the one before it, or a lower one."""
    pairs = []
    for key in sorted({belief.key for belief in told.trial.beliefs}):
        in_time = [b for b in told.trial.beliefs if b.key == key and b.grant not in told.late]
        for later in in_time:
            before = [b for b in in_time if b.from_ns < later.from_ns and b.token is not None]
            if before:
                pairs.append((max(before, key=lambda belief: belief.token or 0), later))
    assume(pairs)
    earlier, later = choices.of(pairs)
    assert earlier.token is not None
    token = earlier.token - choices.below(3)
    fault = TokenFault(
        key=later.key,
        earlier=earlier.grant,
        later=later.grant,
        earlier_token=earlier.token,
        later_token=token,
    )
    return _swapped(told.trial, "beliefs", later, later.model_copy(update={"token": token})), {"token_faults": (fault,)}


def wrong_verdict(told: Told, choices: Choices) -> Planted:
    """The resource refuses what it should take, or takes what it should refuse; its log is none the less true to it."""
    judged = []
    for one in _judged(told.trial):
        later = [other for other in _judged(told.trial) if other.key == one.key and other.order > one.order]
        raised = one.accepted and one.token is not None and one.token > one.highest_before
        if not (raised and later):
            judged.append(one)
    assume(judged)
    one = choices.of(judged)
    flipped = one.model_copy(update={"accepted": not one.accepted})
    return _swapped(told.trial, _list_of(one), one, flipped), {"fence_faults": 1}


def wrong_highest(told: Told, choices: Choices) -> Planted:
    """The resource claims a highest token that its log does not bear out."""
    judged = []
    for one in _judged(told.trial):
        orders = {0, *(other.order for other in _judged(told.trial) if other.key == one.key)}
        judged.append((one, -1 - choices.below(3)))
        if one.order - 1 in orders:  # after a gap it may be higher than the history knows
            judged.append((one, 1 + choices.below(3)))
    judged = [(one, by) for one, by in judged if by > 0 or _known_before(told.trial, one) == one.highest_before]
    assume(judged)
    one, by = choices.of(judged)
    forged = one.model_copy(update={"highest_before": one.highest_before + by})
    return _swapped(told.trial, _list_of(one), one, forged), {"fence_faults": 1}


def forgotten_presentation(told: Told, choices: Choices) -> Planted:
    """The resource says yes to a token that is shown to it, and does not keep it: an older one passes afterwards."""
    keys = sorted({one.key for one in told.trial.beliefs})
    key = choices.of(keys)
    log = [one for one in _judged(told.trial) if one.key == key]
    last = max(log, key=lambda one: one.order, default=None)
    highest = 0 if last is None else max(last.highest_before, last.token or 0 if last.accepted else 0)
    order = 1 if last is None else last.order + 1
    holder = choices.of([one for one in told.trial.beliefs if one.key == key])
    shared = {"actor": holder.actor, "key": key, "grant": holder.grant, "sent_ns": holder.from_ns, "answered_ns": None}
    judged = {"fence": True, "accepted": True, "highest_before": highest}
    value = 0 if last is None else _value_after(last)
    shown = Presentation(**shared, **judged, token=highest + 2, order=order, value_read=value)
    passed = Write(
        **shared,
        **judged,
        token=highest + 1,
        order=order + 1,
        value_read=value,
        value_before=value,
        value_written=value,
    )
    return _added(_added(told.trial, "presentations", shown), "writes", passed), {"fence_faults": 1}


def _known_before(trial: Trial, attempt: Write | Presentation) -> int:
    log = [one for one in _judged(trial) if one.key == attempt.key and one.order < attempt.order]
    return max([0, *(one.highest_before for one in log), *(one.token or 0 for one in log if one.accepted)])


def order_twice(told: Told, choices: Choices) -> Planted:
    """The resource gives one order to two attempts: both are in doubt."""
    pairs = [
        (one, other)
        for one in _judged(told.trial)
        for other in _judged(told.trial)
        if one.key == other.key and other.order == one.order - 1
    ]
    assume(pairs)
    one, other = choices.of(pairs)
    twice = one.model_copy(update={"order": other.order})
    return _swapped(told.trial, _list_of(one), one, twice), {"fence_faults": 2}


def unanswered_waiter(told: Told, choices: Choices) -> Planted:
    """A waiter that lives and is never answered."""
    asked_ns = choices.of(told.trial.beliefs).asked_ns
    faults = told.trial.faults
    if choices.chance(2):  # what happened to it was over, or came before it asked
        over_ns = min(asked_ns + choices.step_ns(), told.trial.ended_ns - 1)
        stopped = FaultWindow(kind="pause", target="forgotten", began_ns=0, ended_ns=over_ns, confirmed="generated")
        killed = FaultWindow(
            kind="kill", target="forgotten", began_ns=asked_ns - 1, ended_ns=None, confirmed="generated"
        )
        faults = (*faults, choices.of((stopped, killed)))
    ask = Ask(
        actor="forgotten",
        key=choices.of(told.trial.beliefs).key,
        asked_ns=asked_ns,
        answered_ns=None,
        outcome="",
    )
    return _added(told.trial.model_copy(update={"faults": faults}), "asks", ask), {"never_served": 1}


def timeout_at_a_free_key(told: Told, choices: Choices) -> Planted:
    """A waiter that timed out though everything that may have held the key was over for long."""
    trial = told.trial
    killed = {fault.target for fault in trial.faults if fault.kind == "kill"}
    keys = {belief.key for belief in trial.beliefs}
    pinned = {belief.key for belief in trial.beliefs if belief.until_ns is None}
    pinned |= {ask.key for ask in trial.asks if ask.answered_ns is None and ask.actor not in killed}
    free = sorted(keys - pinned)
    assume(free)
    key = choices.of(free)
    over_ns = max(
        *(belief.until_ns or 0 for belief in trial.beliefs if belief.key == key),
        *(ask.answered_ns or 0 for ask in trial.asks if ask.key == key),
        *(fault.began_ns for fault in trial.faults if fault.kind == "kill"),
        0,
    )
    free_ns = TTL_NS + 1 + choices.step_ns()
    answered_ns = over_ns + TTL_NS + free_ns
    asked_ns = answered_ns - free_ns - choices.below(free_ns + 1) if choices.chance(2) else answered_ns - free_ns
    ask = Ask(actor="unserved", key=key, asked_ns=asked_ns, answered_ns=answered_ns, outcome="timeout")
    return _added(trial, "asks", ask), {"never_served": 1}


def unknown_ask(told: Told, choices: Choices) -> Planted:
    """An acquire that may have happened."""
    belief = choices.of(told.trial.beliefs)
    ask = Ask(
        actor="unsure",
        key=belief.key,
        asked_ns=belief.asked_ns,
        answered_ns=belief.asked_ns + choices.step_ns(),
        outcome="unknown",
        waited=bool(choices.below(2)),
    )
    return _added(told.trial, "asks", ask), {"unknown": told.unknown + 1}


PLANTERS: tuple[Planter, ...] = (
    intruder,
    overstayer,
    stale_write,
    overtaken_write,
    lost_update,
    token_order,
    wrong_verdict,
    wrong_highest,
    forgotten_presentation,
    order_twice,
    unanswered_waiter,
    timeout_at_a_free_key,
    unknown_ask,
)
assert TTL_MS * 1_000_000 == TTL_NS
