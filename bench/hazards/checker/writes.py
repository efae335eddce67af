"""Stale writes and lost updates.

A write is stale when it was sent after a grant of its key had been told that is later than its own: `sent_ns` of the
write > `from_ns` of the later grant > `from_ns` of its own. It counts whatever the resource said to it, and also when
its own belief had no end yet: that the writer does not know is the point (Kleppmann 2016). `by_token` says whether a
fence could see it: its token is below the highest that the resource had accepted. A stale write that comes before the
new holder's first one is seen by no fence, and does no harm to what that one then reads.

An update is lost when an accepted write found a value that its writer had not read: `value_before` is not
`value_read`. A holder's second write builds on its first, and says so in `value_read`.
"""

from bench.hazards.checker.beliefs import by_key
from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import StaleWrite, Trial


def stale_writes_of(trial: Trial) -> tuple[StaleWrite, ...]:
    """In order of their sending. The trial is well-formed: every write's grant is known."""
    told_ns = {belief.grant: belief.from_ns for belief in trial.beliefs}
    last_told = {
        key: RunningMaximum((belief.from_ns, belief.from_ns) for belief in beliefs)
        for key, beliefs in by_key(trial.beliefs).items()
    }
    found = []
    for write in trial.writes:
        latest_ns = last_told[write.key].up_to(write.sent_ns - 1)
        if latest_ns is None or latest_ns <= told_ns[write.grant]:
            continue
        judged = write.accepted is not None
        below = write.token is not None and write.token < write.highest_before
        stale = StaleWrite(grant=write.grant, order=write.order, accepted=write.accepted, by_token=judged and below)
        found.append((write.sent_ns, stale))
    found.sort(key=lambda entry: (entry[0], entry[1].grant, entry[1].order, str(entry[1].accepted), entry[1].by_token))
    return tuple(stale for _, stale in found)


def lost_updates_of(trial: Trial) -> int:
    """How many accepted writes overwrote what their writers had not read."""
    return sum(write.accepted is True and write.value_before != write.value_read for write in trial.writes)
