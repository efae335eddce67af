"""What the other modules need to know of beliefs: their order, their ends, and whether they were reported in time."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Protocol, TypeVar

from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import Belief, FaultWindow, Trial

NS_PER_MS = 1_000_000


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


Event = TypeVar("Event", bound=_Keyed)


def by_key(events: Iterable[Event]) -> dict[str, list[Event]]:
    """Events of each key, in order of the keys."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[event.key].append(event)
    return dict(sorted(found.items()))


def in_order_of_report(beliefs: Iterable[Belief]) -> list[Belief]:
    """By the instant of the report. Equal instants prove no order; a fixed one keeps the findings the same."""
    return sorted(beliefs, key=lambda belief: (belief.from_ns, belief.asked_ns, belief.grant))


def end_ns(belief: Belief, trial: Trial) -> int:
    """When it ended: at the end of the trial for whoever believed to the last."""
    return trial.ended_ns if belief.until_ns is None else belief.until_ns


_EVER = 2**63 - 1


class Disturbances:
    """When faults were in force on each target. One without an end counts as lasting: not known to be over.

    A kill is left out: the dead tell nothing, and who tells something later under the same name is another process.
    """

    def __init__(self, faults: Iterable[FaultWindow]) -> None:
        windows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for fault in faults:
            if fault.kind == "kill":
                continue
            ended_ns = _EVER if fault.ended_ns is None else fault.ended_ns
            windows[fault.target].append((fault.began_ns, ended_ns))
        self._ends = {target: RunningMaximum(of_target) for target, of_target in windows.items()}

    def on(self, target: str, from_ns: int, until_ns: int) -> bool:
        """Was any fault in force on this target at any instant of an interval, its two ends included?"""
        if target not in self._ends:
            return False
        latest_end_ns = self._ends[target].up_to(until_ns)
        return latest_end_ns is not None and latest_end_ns >= from_ns


def reported_in_time(belief: Belief, disturbances: Disturbances) -> bool:
    """Was the grant still good when its client came to know of it?

    An answer may lie unread for long: the client is stopped, or cut off, between the server's decision and its own
    reading, and by then the lease may be over and others may have held the key. Such a grant is *older* than the
    instant of its telling says. With a lease, the client's own deadline settles it; without one (a session, a
    connection), only a client on which no fault lay while it asked is taken to have read its answer in time.
    """
    if belief.lease_until_ns is not None:
        return belief.lease_until_ns > belief.from_ns
    return not disturbances.on(belief.actor, belief.asked_ns, belief.from_ns)
