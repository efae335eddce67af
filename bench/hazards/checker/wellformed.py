"""Refuses histories that contradict themselves: no conclusion may be drawn from those."""

from bench.records.hazards import Trial


def require_wellformed(trial: Trial) -> None:
    """Raise ValueError, naming trial and event, for what cannot have been recorded as it happened.

    A grant of which the history has two beliefs; a write or a presentation under a grant that no belief in its key has;
    an event that ends before it begins; a verdict on what was not sent yet.
    """
    key_of: dict[str, str] = {}
    for belief in trial.beliefs:
        if belief.grant in key_of:
            raise ValueError(f"trial {trial.name}: two beliefs in grant {belief.grant}, which is to be one client's")
        key_of[belief.grant] = belief.key
        until_ns = trial.ended_ns if belief.until_ns is None else belief.until_ns
        if not belief.asked_ns <= belief.from_ns <= until_ns:
            raise ValueError(
                f"trial {trial.name}: grant {belief.grant} was asked for at {belief.asked_ns}, reported at "
                f"{belief.from_ns} and given up at {until_ns}: not in this order"
            )
    for did, attempts in (("wrote", trial.writes), ("read", trial.presentations)):
        for one in attempts:
            if key_of.get(one.grant) != one.key:
                raise ValueError(
                    f"trial {trial.name}: {one.actor} {did} {one.key} under grant {one.grant}, "
                    "which no client reported for this key"
                )
            if one.judged_ns is not None and one.judged_ns < one.sent_ns:
                raise ValueError(
                    f"trial {trial.name}: what {one.actor} {did} at {one.sent_ns} was judged before, at {one.judged_ns}"
                )
    for ask in trial.asks:
        if ask.answered_ns is not None and ask.answered_ns < ask.asked_ns:
            raise ValueError(f"trial {trial.name}: {ask.actor} was answered before it asked, at {ask.asked_ns}")
