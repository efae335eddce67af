"""The definitions once more, word by word, each event compared with every other one: slow, and plain to see.

It shares nothing with the checker but the records.
"""

from collections.abc import Iterable
from itertools import pairwise

from bench.records.hazards import Belief, Overlap, Presentation, StaleWrite, TokenFault, Trial, TrialChecked, Write

_MS = 1_000_000
_Attempt = Write | Presentation


def judged(trial: Trial) -> TrialChecked:
    """What the checker must find. The trial is well-formed."""
    faults = _token_faults(trial)
    return TrialChecked(
        name=trial.name,
        parameters=trial.parameters,
        grants=len(trial.beliefs),
        writes=len(trial.writes),
        overlaps=tuple(_overlaps(trial)),
        overlap_ns=_overlap_ns(trial),
        stale_writes=tuple(_stale(trial)),
        overtaken_writes=tuple(_overtaken(trial)),
        lost_updates=sum(w.value_before != w.value_read for w in trial.writes if w.accepted),
        token_pairs=len(faults),
        token_faults=tuple(fault for fault in faults if fault.later_token <= fault.earlier_token),
        fence_faults=_fence_faults(trial),
        never_served=_never_served(trial),
        unknown=[ask.outcome for ask in trial.asks].count("unknown")
        + [one.accepted for one in _attempts(trial)].count(None),
    )


def _attempts(trial: Trial) -> list[_Attempt]:
    return [*trial.writes, *trial.presentations]


def _end(trial: Trial, belief: Belief) -> int:
    return belief.until_ns if belief.until_ns is not None else trial.ended_ns


def _told(belief: Belief) -> tuple[int, int, str]:
    return belief.from_ns, belief.asked_ns, belief.grant


def _sorted(trial: Trial) -> list[Belief]:
    return sorted(trial.beliefs, key=lambda belief: (belief.key, *_told(belief)))


def _common_ns(trial: Trial, one: Belief, other: Belief) -> int:
    return min(_end(trial, one), _end(trial, other)) - max(one.from_ns, other.from_ns)


def _overlaps(trial: Trial) -> list[Overlap]:
    found = []
    for later in _sorted(trial):
        with_it = [
            one
            for one in trial.beliefs
            if one.key == later.key and _told(one) < _told(later) and _common_ns(trial, one, later) > 0
        ]
        if with_it:
            last_end = max(_end(trial, one) for one in with_it)
            earlier = min((one for one in with_it if _end(trial, one) == last_end), key=_told)
            until_ns = min(last_end, _end(trial, later))
            found.append(
                Overlap(
                    key=later.key, earlier=earlier.grant, later=later.grant, from_ns=later.from_ns, until_ns=until_ns
                )
            )
    return found


def _overlap_ns(trial: Trial) -> int:
    """Between any two neighbouring instants of the history, the number of believers does not change."""
    total = 0
    for key in {belief.key for belief in trial.beliefs}:
        spans = [(belief.from_ns, _end(trial, belief)) for belief in trial.beliefs if belief.key == key]
        for begin, end in pairwise(sorted({instant for span in spans for instant in span})):
            if sum(span[0] <= begin and end <= span[1] for span in spans) >= 2:
                total += end - begin
    return total


def _stale(trial: Trial) -> list[StaleWrite]:
    return _late(trial, (write for write in trial.writes if _succeeded(trial, write, write.sent_ns)))


def _overtaken(trial: Trial) -> list[StaleWrite]:
    judged = [(write, write.judged_ns) for write in trial.writes if write.judged_ns is not None]
    return _late(
        trial,
        (
            write
            for write, judged_ns in judged
            if _succeeded(trial, write, judged_ns) and not _succeeded(trial, write, write.sent_ns)
        ),
    )


def _succeeded(trial: Trial, write: Write, before_ns: int) -> bool:
    own = next(belief for belief in trial.beliefs if belief.grant == write.grant)
    return any(
        other.key == write.key and own.from_ns < other.from_ns and other.from_ns < before_ns for other in trial.beliefs
    )


def _read_by_next(trial: Trial, write: Write) -> bool:
    own = next(belief for belief in trial.beliefs if belief.grant == write.grant)
    later = {one.grant for one in trial.beliefs if one.key == own.key and one.from_ns > own.from_ns}
    accepted = [one for one in _attempts(trial) if one.accepted and one.grant in later]
    if not write.accepted or not accepted:
        return False
    for grant in {one.grant for one in accepted}:
        of_grant = [one for one in accepted if one.grant == grant]
        first = min(one.order for one in of_grant)
        if first <= write.order or any(isinstance(one, Write) and one.order == first for one in of_grant):
            return False
    return True


def _late(trial: Trial, writes: Iterable[Write]) -> list[StaleWrite]:
    found = []
    for write in writes:
        by_token = write.accepted is not None and write.token is not None and write.token < write.highest_before
        late = StaleWrite(
            grant=write.grant,
            order=write.order,
            accepted=write.accepted,
            by_token=by_token,
            read_by_next=_read_by_next(trial, write),
        )
        found.append((write.sent_ns, write.grant, write.order, str(write.accepted), by_token, late))
    return [entry[-1] for entry in sorted(found, key=lambda entry: entry[:-1])]


def _disturbed(trial: Trial, actor: str, from_ns: int, until_ns: int) -> bool:
    return any(
        fault.target == actor
        and fault.kind != "kill"
        and fault.began_ns <= until_ns
        and (fault.ended_ns is None or fault.ended_ns >= from_ns)
        for fault in trial.faults
    )


def _in_time(trial: Trial, belief: Belief) -> bool:
    if belief.lease_until_ns is None:
        return not _disturbed(trial, belief.actor, belief.asked_ns, belief.from_ns)
    return belief.lease_until_ns > belief.from_ns


def _proven(trial: Trial, earlier: Belief, later: Belief) -> bool:
    if earlier.from_ns >= later.from_ns:
        return False
    if earlier.from_ns <= later.asked_ns:
        return True
    over = earlier.until_ns is not None and earlier.until_ns <= later.from_ns
    return over and _in_time(trial, later)


def _token_faults(trial: Trial) -> list[TokenFault]:
    """One for every grant that is compared; a fault only where the token does not rise."""
    compared = []
    for later in _sorted(trial):
        if later.token is None:
            continue
        before = [
            (one.token, one)
            for one in trial.beliefs
            if one.key == later.key and one.token is not None and _proven(trial, one, later)
        ]
        if before:
            greatest = max(token for token, _ in before)
            earlier = min((one for token, one in before if token == greatest), key=_told)
            compared.append(
                TokenFault(
                    key=later.key,
                    earlier=earlier.grant,
                    later=later.grant,
                    earlier_token=greatest,
                    later_token=later.token,
                )
            )
    return compared


def _fence_faults(trial: Trial) -> int:
    return sum(
        _contradicts_rule(trial, one) or _contradicts_log(trial, one)
        for one in _attempts(trial)
        if one.accepted is not None
    )


def _contradicts_rule(trial: Trial, attempt: _Attempt) -> bool:
    if not attempt.fence or attempt.token is None:
        return attempt.accepted is not True
    strict = trial.parameters.get("rule") == "at_most"
    right = attempt.token > attempt.highest_before if strict else attempt.token >= attempt.highest_before
    return attempt.accepted is not right


def _contradicts_log(trial: Trial, attempt: _Attempt) -> bool:
    log = [one for one in _attempts(trial) if one.key == attempt.key and one.accepted is not None]
    if attempt.order < 1 or [one.order for one in log].count(attempt.order) > 1:
        return True
    known, exact = _known_before(log, attempt.order)
    return attempt.highest_before != known if exact else attempt.highest_before < known


def _known_before(log: list[_Attempt], order: int) -> tuple[int, bool]:
    """The highest token before an order, as far as the log tells, and whether it tells all.

    It does not while orders are missing and no attempt since (of an order of its own) has shown what was the highest.
    """
    earlier = [one for one in log if one.order < order]
    known = max([0, *(one.token or 0 for one in earlier if one.accepted)])
    exact = True
    for number in range(1, order + 1):
        here = [one for one in log if one.order == number]
        if number < order and len(here) == 1 and not exact:
            known, exact = max(known, here[0].highest_before), True
        elif not here:
            exact = False
    return known, exact


def _never_served(trial: Trial) -> int:
    count = 0
    for ask in trial.asks:
        if not ask.waited:
            continue
        if ask.answered_ns is None:
            stopped = any(
                fault.target == ask.actor
                and fault.kind == "pause"
                and (fault.ended_ns is None or fault.ended_ns >= trial.ended_ns)
                for fault in trial.faults
            )
            count += _killed_ns(trial, ask.actor, ask.asked_ns) is None and not stopped
        elif ask.outcome == "timeout" and not _disturbed(trial, ask.actor, ask.asked_ns, ask.answered_ns):
            free_from = max([ask.asked_ns, *_ends_before(trial, ask.key, ask.answered_ns)])
            free = ask.answered_ns - free_from
            count += free > trial.ttl_ms * _MS and free >= (ask.answered_ns - ask.asked_ns) / 2
    return count


def _killed_ns(trial: Trial, actor: str, asked_ns: int) -> int | None:
    kills = [fault.began_ns for fault in trial.faults if fault.kind == "kill" and fault.target == actor]
    return max((at_ns for at_ns in kills if at_ns >= asked_ns), default=None)


def _ends_before(trial: Trial, key: str, at_ns: int) -> list[int]:
    """When everything that may have taken the key before an instant was surely over."""
    ends = []
    for belief in trial.beliefs:
        since = belief.from_ns if _in_time(trial, belief) else belief.asked_ns
        if belief.key == key and since < at_ns:
            ends.append(_end(trial, belief) + belief.ttl_ms * _MS)
    for ask in trial.asks:
        if ask.key == key and ask.outcome not in ("busy", "timeout", "error") and ask.asked_ns < at_ns:
            last = ask.answered_ns
            if last is None:
                last = _killed_ns(trial, ask.actor, ask.asked_ns)
            ends.append((trial.ended_ns if last is None else last) + trial.ttl_ms * _MS)
    return ends
