"""Stale writes, overtaken writes and lost updates.

A write is stale when it was sent after a grant of its key had been told that is later than its own: `sent_ns` of the
write > `from_ns` of the later grant > `from_ns` of its own. It counts whatever the resource said to it, and also when
its own belief had no end yet: that the writer does not know is the point (Kleppmann 2016). `by_token` says whether a
fence could see it: its token is below the highest that the resource had accepted. A stale write that comes before the
new holder has shown its token is seen by no fence. It does no harm if the new holder reads after it, as one that
presents its token with its first read does.

A write is overtaken when it was sent in time, and judged after a later grant of its key had been told: `judged_ns` >
`from_ns` of the later grant > `from_ns` of its own, and not stale. Its writer did nothing wrong, and no look at its own
clock could have helped it: the write was on its way. Where the resource does not tell when it judged, none is found.

An update is lost when an accepted write found a value that its writer had not read: `value_before` is not
`value_read`. A holder's second write builds on its first, and says so in `value_read`.
"""

from collections.abc import Iterable

from bench.hazards.checker.beliefs import by_key
from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import StaleWrite, Trial, Write


def stale_writes_of(trial: Trial) -> tuple[StaleWrite, ...]:
    """In order of their sending. The trial is well-formed: every write's grant is known."""
    succeeded = _Succeeded(trial)
    return _in_order(write for write in trial.writes if succeeded.before(write, write.sent_ns))


def overtaken_writes_of(trial: Trial) -> tuple[StaleWrite, ...]:
    """In order of their sending, none of them stale."""
    succeeded = _Succeeded(trial)
    return _in_order(
        write
        for write in trial.writes
        if write.judged_ns is not None
        and succeeded.before(write, write.judged_ns)
        and not succeeded.before(write, write.sent_ns)
    )


class _Succeeded:
    """Which grants had a successor, and from when."""

    def __init__(self, trial: Trial) -> None:
        self._told_ns = {belief.grant: belief.from_ns for belief in trial.beliefs}
        self._last_told = {
            key: RunningMaximum((belief.from_ns, belief.from_ns) for belief in beliefs)
            for key, beliefs in by_key(trial.beliefs).items()
        }

    def before(self, write: Write, at_ns: int) -> bool:
        """Had a later grant than that of the write been told before an instant?"""
        latest_ns = self._last_told[write.key].up_to(at_ns - 1)
        return latest_ns is not None and latest_ns > self._told_ns[write.grant]


def _in_order(writes: Iterable[Write]) -> tuple[StaleWrite, ...]:
    found = []
    for write in writes:
        below = write.accepted is not None and write.token is not None and write.token < write.highest_before
        late = StaleWrite(grant=write.grant, order=write.order, accepted=write.accepted, by_token=below)
        found.append((write.sent_ns, late))
    found.sort(key=lambda entry: (entry[0], entry[1].grant, entry[1].order, str(entry[1].accepted), entry[1].by_token))
    return tuple(late for _, late in found)


def lost_updates_of(trial: Trial) -> int:
    """How many accepted writes overwrote what their writers had not read."""
    return sum(write.accepted is True and write.value_before != write.value_read for write in trial.writes)
