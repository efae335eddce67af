"""One violation put into a clean history, and what exactly must then be found.

Each planter takes a history that was told in full and choices, and returns the spoilt trial with the findings that it
must have beside those of the clean one. It refuses, by `assume`, a history that has no place for its violation.
"""

from collections.abc import Callable
from typing import Any

from hypothesis import assume

from bench.records.hazards import Ask, Belief, EndOfBelief, FaultWindow, Overlap, StaleWrite, TokenFault, Trial, Write
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
    """A holder writes after a later grant was told; the resource judges the write by its own rule, or never gets it.

    It comes last, or in the midst of the log, where it leaves value and highest token as they were.
    """
    trial = told.trial
    pairs = [(a, b) for a in trial.beliefs for b in trial.beliefs if a.key == b.key and a.from_ns < b.from_ns]
    assume(pairs)
    writer, later = choices.of(pairs)
    log = sorted((w for w in trial.writes if w.key == writer.key and w.accepted is not None), key=lambda w: w.order)
    fence, arrives = not choices.chance(3), not choices.chance(4)
    place = choices.below(len(log) + 1)
    highest = value = 0
    if place:
        before = log[place - 1]
        highest = max(before.highest_before, before.token or 0 if before.accepted else 0)
        value = before.value_written if before.accepted else before.value_before
    order = log[place - 1].order + 1 if place else 1
    low = writer.token is not None and writer.token < highest
    equal = writer.token == highest and "rule" in trial.parameters
    accepted = not (fence and (low or equal))
    raises = accepted and writer.token is not None and writer.token > highest
    assume(not arrives or place == len(log) or not raises)
    verdict = {"order": order, "accepted": accepted, "highest_before": highest, "value_before": value}
    stale = Write(
        actor=writer.actor,
        key=writer.key,
        grant=writer.grant,
        token=writer.token,
        sent_ns=later.from_ns + 1 + choices.step_ns(),
        answered_ns=None,
        fence=fence,
        value_read=value,
        value_written=value,
        **(verdict if arrives else UNANSWERED),
    )
    if arrives:
        moved = {id(w): w.model_copy(update={"order": w.order + 1}) for w in log[place:]}
        trial = trial.model_copy(update={"writes": tuple(moved.get(id(w), w) for w in trial.writes)})
    found = StaleWrite(
        grant=writer.grant,
        order=order if arrives else 0,
        accepted=accepted if arrives else None,
        by_token=arrives and low,
    )
    return _added(trial, "writes", stale), {"stale_writes": (found,), "unknown": told.unknown + (not arrives)}


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
    for write in told.trial.writes:
        later = [w for w in told.trial.writes if w.key == write.key and w.order > write.order]
        raised = write.accepted and write.token is not None and write.token > write.highest_before
        if write.accepted is not None and not (raised and later):
            judged.append(write)
    assume(judged)
    write = choices.of(judged)
    flipped = write.model_copy(update={"accepted": not write.accepted})
    return _swapped(told.trial, "writes", write, flipped), {"fence_faults": 1}


def wrong_highest(told: Told, choices: Choices) -> Planted:
    """The resource claims a highest token that its log does not bear out."""
    judged = []
    for write in told.trial.writes:
        orders = {0, *(w.order for w in told.trial.writes if w.key == write.key)}
        if write.accepted is not None:
            judged.append((write, -1 - choices.below(3)))
            if write.order - 1 in orders:  # after a gap it may be higher than the history knows
                judged.append((write, 1 + choices.below(3)))
    judged = [(write, by) for write, by in judged if by > 0 or _known_before(told.trial, write) == write.highest_before]
    assume(judged)
    write, by = choices.of(judged)
    forged = write.model_copy(update={"highest_before": write.highest_before + by})
    return _swapped(told.trial, "writes", write, forged), {"fence_faults": 1}


def _known_before(trial: Trial, write: Write) -> int:
    log = [w for w in trial.writes if w.key == write.key and w.accepted is not None and w.order < write.order]
    return max([0, *(w.highest_before for w in log), *(w.token or 0 for w in log if w.accepted)])


def order_twice(told: Told, choices: Choices) -> Planted:
    """The resource gives one order to two attempts: both are in doubt."""
    pairs = []
    for write in told.trial.writes:
        for other in told.trial.writes:
            one_log = write.key == other.key and write.accepted is not None and other.accepted is not None
            if one_log and other.order == write.order - 1:
                pairs.append((write, other))
    assume(pairs)
    write, other = choices.of(pairs)
    twice = write.model_copy(update={"order": other.order})
    return _swapped(told.trial, "writes", write, twice), {"fence_faults": 2}


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
    lost_update,
    token_order,
    wrong_verdict,
    wrong_highest,
    order_twice,
    unanswered_waiter,
    timeout_at_a_free_key,
    unknown_ask,
)
assert TTL_MS * 1_000_000 == TTL_NS
