"""Waiters that were never served.

An ask that was ready to wait counts, first, when it has no answer at all. Not so when its client was killed while it
asked, or was stopped and never went on: the dead wait for nothing.

It counts, second, when it ended `timeout` although the key was free. Nobody sees the server's side of the key, so
freedom is concluded carefully. The key counts as possibly taken

    from the report of each grant (from its asking, where it was not reported in time) until one TTL after the belief in
    it ended: so long a lease may outlive its holder, or a release that was lost; and
    from each ask of others that may have left a grant behind (any outcome but `busy`, `timeout` and `error`) until one
    TTL after its answer; to the end of the trial when it has none, or one TTL after its client was killed.

The ask was not served when, at its timeout, the key had been free for more than another TTL of the ask's own time, and
for at least the last half of it. An ask during which a fault lay on its own client is not judged: who is stopped or
cut off may time out at a free key. A fault on the server excuses nobody: the lock was unavailable, and that is to show.
"""

from bench.hazards.checker.beliefs import NS_PER_MS, Disturbances, by_key, end_ns, reported_in_time
from bench.hazards.checker.running import RunningMaximum
from bench.records.hazards import Ask, Belief, FaultWindow, Trial

_LEAVES_NOTHING = frozenset({"busy", "timeout", "error"})  # the adapter contract: nothing of ours is left behind


def never_served_of(trial: Trial) -> int:
    """How many waiters were not served."""
    disturbances = Disturbances(trial.faults)
    killed = _Killed(trial.faults)
    stopped = _stopped_for_good(trial)
    beliefs = by_key(trial.beliefs)
    count = 0
    for key, asks in by_key(trial.asks).items():
        taken = _possibly_taken(trial, asks, beliefs.get(key, []), disturbances, killed)
        for ask in asks:
            if not ask.waited:
                continue
            if ask.answered_ns is None:
                count += killed.at_ns(ask) is None and ask.actor not in stopped
            elif ask.outcome == "timeout" and not disturbances.on(ask.actor, ask.asked_ns, ask.answered_ns):
                free_from_ns = taken.up_to(ask.answered_ns - 1)
                since_ns = ask.asked_ns if free_from_ns is None else max(ask.asked_ns, free_from_ns)
                free_ns = ask.answered_ns - since_ns
                count += free_ns > trial.ttl_ms * NS_PER_MS and 2 * free_ns >= ask.answered_ns - ask.asked_ns
    return count


def _possibly_taken(
    trial: Trial, asks: list[Ask], beliefs: list[Belief], disturbances: Disturbances, killed: "_Killed"
) -> RunningMaximum[int]:
    """By the instant from which the key may have been taken, the instant at which it surely was free again."""
    entries = []
    for belief in beliefs:
        from_ns = belief.from_ns if reported_in_time(belief, disturbances) else belief.asked_ns
        entries.append((from_ns, end_ns(belief, trial) + belief.ttl_ms * NS_PER_MS))
    for ask in asks:
        if ask.outcome in _LEAVES_NOTHING:
            continue
        last_ns = ask.answered_ns if ask.answered_ns is not None else killed.at_ns(ask)
        if last_ns is None:
            last_ns = trial.ended_ns
        entries.append((ask.asked_ns, last_ns + trial.ttl_ms * NS_PER_MS))
    return RunningMaximum(entries)


class _Killed:
    """Which actors were killed, and when last."""

    def __init__(self, faults: tuple[FaultWindow, ...]) -> None:
        self._last_ns: dict[str, int] = {}
        for fault in faults:
            if fault.kind == "kill":
                self._last_ns[fault.target] = max(fault.began_ns, self._last_ns.get(fault.target, fault.began_ns))

    def at_ns(self, ask: Ask) -> int | None:
        """When the asker was killed, if that was after it asked."""
        at_ns = self._last_ns.get(ask.actor)
        return at_ns if at_ns is not None and at_ns >= ask.asked_ns else None


def _stopped_for_good(trial: Trial) -> frozenset[str]:
    return frozenset(
        fault.target
        for fault in trial.faults
        if fault.kind == "pause" and (fault.ended_ns is None or fault.ended_ns >= trial.ended_ns)
    )
