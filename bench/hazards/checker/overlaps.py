"""Overlaps: two clients that believe in one key at the same time, the hazard itself.

A belief is the half-open interval [`from_ns`, `until_ns`), to the end of the trial where it has no end. Two beliefs in
one key overlap when some instant lies in both: those that only touch do not, and neither does one of no length. Two
grants of one actor overlap as any other two do: the lock gave its key twice.

A thousand clients that all believe would be half a million pairs. So each grant is reported at most once as the later
one, paired with that grant among those reported before it whose belief lasts longest (the first one, if several do).
Nothing is lost by it: a grant overlaps some earlier one exactly if it overlaps that one, and the reported intervals
together cover every instant at which two or more believe. `overlap_ns` is the length of that union, key by key.
"""

from collections.abc import Sequence

from bench.hazards.checker.beliefs import by_key, end_ns, in_order_of_report
from bench.records.hazards import Overlap, Trial


def overlaps_of(trial: Trial) -> tuple[Overlap, ...]:
    """At most one a grant, by key and instant."""
    found = []
    for key, beliefs in by_key(trial.beliefs).items():
        longest, longest_until_ns = None, 0
        for belief in in_order_of_report(beliefs):
            until_ns = end_ns(belief, trial)
            if until_ns == belief.from_ns:
                continue
            if longest is not None and longest_until_ns > belief.from_ns:
                found.append(
                    Overlap(
                        key=key,
                        earlier=longest.grant,
                        later=belief.grant,
                        from_ns=belief.from_ns,
                        until_ns=min(until_ns, longest_until_ns),
                    )
                )
            if longest is None or until_ns > longest_until_ns:
                longest, longest_until_ns = belief, until_ns
    return tuple(found)


def union_ns(overlaps: Sequence[Overlap]) -> int:
    """The time that `overlaps_of` found, no instant of a key counted twice."""
    total = 0
    for of_key in by_key(overlaps).values():
        counted_to_ns = of_key[0].from_ns  # they come in order of their beginnings
        for overlap in of_key:
            total += max(0, overlap.until_ns - max(overlap.from_ns, counted_to_ns))
            counted_to_ns = max(counted_to_ns, overlap.until_ns)
    return total
