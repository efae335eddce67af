"""Stale writes, overtaken writes and lost updates.

A write is stale when it was sent after a grant of its key was reported that is later than its own: `sent_ns` of the
write > `from_ns` of the later grant > `from_ns` of its own. It counts whatever the resource said to it, and also when
its own belief had no end yet: that the writer does not know is the point (Kleppmann 2016). `by_token` says whether a
fence could see it: its token is below the highest that the resource had accepted. A stale write that comes before the
new holder has shown its token is seen by no fence. It does no harm if the new holder reads after it, and one that
presents its token with its first read shows when that was: `read_by_next` says that the write was accepted, that some
later holder was accepted by the resource, and that each of those began there with a presentation, in the resource's own
order behind this write.

A write is overtaken when it was sent in time, and judged after a later grant of its key was reported: `judged_ns` >
`from_ns` of the later grant > `from_ns` of its own, and not stale. Its writer did nothing wrong, and no look at its own
clock could have helped it: the write was on its way. Where the resource does not tell when it judged, none is found.

An update is lost when an accepted write found a value that its writer had not read: `value_before` is not
`value_read`. A holder's second write builds on its first, and says so in `value_read`.
"""

from collections.abc import Iterable

from bench.hazards.checker.beliefs import by_key
from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import Presentation, StaleWrite, Trial, Write


def stale_writes_of(trial: Trial) -> tuple[StaleWrite, ...]:
    """In order of their sending. The trial is well-formed: every write's grant is known."""
    succeeded = _Succeeded(trial)
    return _in_order((write for write in trial.writes if succeeded.before(write, write.sent_ns)), _Read(trial))


def overtaken_writes_of(trial: Trial) -> tuple[StaleWrite, ...]:
    """In order of their sending, none of them stale."""
    succeeded = _Succeeded(trial)
    overtaken = (
        write
        for write in trial.writes
        if write.judged_ns is not None
        and succeeded.before(write, write.judged_ns)
        and not succeeded.before(write, write.sent_ns)
    )
    return _in_order(overtaken, _Read(trial))


class _Succeeded:
    """Which grants had a successor, and from when."""

    def __init__(self, trial: Trial) -> None:
        self._reported_ns = {belief.grant: belief.from_ns for belief in trial.beliefs}
        self._last_reported = {
            key: RunningMaximum((belief.from_ns, belief.from_ns) for belief in beliefs)
            for key, beliefs in by_key(trial.beliefs).items()
        }

    def before(self, write: Write, at_ns: int) -> bool:
        """Had a later grant than that of the write been reported before an instant?"""
        latest_ns = self._last_reported[write.key].up_to(at_ns - 1)
        return latest_ns is not None and latest_ns > self._reported_ns[write.grant]


class _Read:
    """From which order on each grant read what the resource had."""

    def __init__(self, trial: Trial) -> None:
        self._reported_ns = {belief.grant: belief.from_ns for belief in trial.beliefs}
        shown, written = _first_orders(trial.presentations), _first_orders(trial.writes)
        entries: dict[str, list[tuple[int, int]]] = {}
        for key, beliefs in by_key(trial.beliefs).items():
            for belief in beliefs:
                first_shown, first_written = shown.get(belief.grant), written.get(belief.grant)
                if first_shown is None and first_written is None:
                    continue  # it was at the resource for nothing that counts
                if first_shown is None or (first_written is not None and first_written <= first_shown):
                    first_shown = _UNKNOWN  # when it read what it built on, nobody knows
                entries.setdefault(key, []).append((-belief.from_ns, -first_shown))
        # Backwards in time: the greatest of the negative orders over grants reported after an instant is the earliest.
        self._earliest = {key: RunningMaximum(of_key) for key, of_key in entries.items()}

    def by_next(self, write: Write) -> bool:
        """Did every later holder that came to the resource read it after this write?"""
        if not write.accepted or write.key not in self._earliest:
            return False
        earliest = self._earliest[write.key].up_to(-self._reported_ns[write.grant] - 1)
        return earliest is not None and -earliest > write.order


_UNKNOWN = -1


def _first_orders(attempts: Iterable[Write | Presentation]) -> dict[str, int]:
    """The order of the first accepted one of each grant."""
    first: dict[str, int] = {}
    for one in attempts:
        if one.accepted:
            first[one.grant] = min(one.order, first.get(one.grant, one.order))
    return first


def _in_order(writes: Iterable[Write], read: _Read) -> tuple[StaleWrite, ...]:
    found = []
    for write in writes:
        below = write.accepted is not None and write.token is not None and write.token < write.highest_before
        late = StaleWrite(
            grant=write.grant,
            order=write.order,
            accepted=write.accepted,
            by_token=below,
            read_by_next=read.by_next(write),
        )
        found.append((write.sent_ns, late))
    found.sort(key=lambda entry: (entry[0], entry[1].grant, entry[1].order, str(entry[1].accepted), entry[1].by_token))
    return tuple(late for _, late in found)


def lost_updates_of(trial: Trial) -> int:
    """How many accepted writes overwrote what their writers had not read."""
    return sum(write.accepted is True and write.value_before != write.value_read for write in trial.writes)
