"""One trial of a scenario as lines of text: who did what, when, and what the checker found."""

from collections.abc import Iterator

from bench.records.hazards import EndOfBelief, Trial, TrialChecked

_ENDS = {
    EndOfBelief.RELEASED: "releases the lock",
    EndOfBelief.LOST: "knows that it has lost the lock",
    EndOfBelief.REFUSED: "knows that it has lost the lock, by the refusal",
    EndOfBelief.KILLED: "is killed",
}


def timeline_lines(trial: Trial) -> list[str]:
    """Every event in its order, each with the seconds since the beginning."""
    events = sorted(_events(trial), key=lambda event: event[0])
    width = max((len(who) for _, who, _ in events), default=0)
    return [f"{(at_ns - trial.began_ns) / 1e9:9.3f} s  {who:<{width}}  {what}" for at_ns, who, what in events]


def _events(trial: Trial) -> Iterator[tuple[int, str, str]]:
    for fault in trial.faults:
        amount = f" {fault.amount:+g} {fault.unit or 'ms'}" if fault.amount else ""
        name = fault.kind.replace("_", " ")
        yield fault.began_ns, fault.target, f"{name}{amount} {'begins' if fault.ended_ns is not None else ''}".rstrip()
        if fault.ended_ns is not None and fault.ended_ns <= trial.ended_ns:
            yield fault.ended_ns, fault.target, f"{name} ends"
    for ask in trial.asks:
        yield ask.asked_ns, ask.actor, "asks for the lock"
        if ask.answered_ns is not None and ask.outcome != "acquired":
            yield ask.answered_ns, ask.actor, f"is answered: {ask.outcome}"
    for belief in trial.beliefs:
        token = "without a token" if belief.token is None else f"token {belief.token}"
        yield belief.from_ns, belief.actor, f"holds the lock, {token}"
        if belief.until_ns is not None and belief.ended_by in _ENDS:
            yield belief.until_ns, belief.actor, _ENDS[belief.ended_by]
    for shown in trial.presentations:
        shows = "" if shown.token is None else f" as it shows token {shown.token}"
        read = f"reads {shown.value_read}{shows}"
        verdict = read if shown.accepted else f"shows token {shown.token}: refused, below {shown.highest_before}"
        yield shown.judged_ns or shown.sent_ns, shown.actor, verdict
    for write in trial.writes:
        at_ns = write.judged_ns or write.sent_ns
        if write.accepted is None:
            yield at_ns, write.actor, f"writes {write.value_written}: no answer"
        elif write.accepted:
            lost = "" if write.value_before == write.value_read else ", and an update is lost"
            yield at_ns, write.actor, f"writes {write.value_before} -> {write.value_written}: accepted{lost}"
        else:
            yield at_ns, write.actor, f"writes with token {write.token}: refused, below {write.highest_before}"


def findings_line(checked: TrialChecked) -> str:
    """What the checker found, in one line."""
    held_s = checked.overlap_ns / 1e9
    found = [
        f"two holders for {held_s:.3f} s" if held_s else "never two holders",
        f"stale writes: {checked.stale_accepted} accepted, {checked.stale_refused} refused",
        f"lost updates: {checked.lost_updates}",
        f"tokens out of order: {len(checked.token_faults)}",
    ]
    if checked.fence_faults:
        found.append(f"writes judged wrongly: {checked.fence_faults}")
    if checked.never_served:
        found.append(f"waiters never served: {checked.never_served}")
    return "; ".join(found)
