"""Late writes: what became of those that were sent after another client had been granted the key.

A fence compares tokens that the resource has *seen*. Where the new holder shows its token with its first write only, a
late write that comes before it finds no greater token there, and is taken by the rule. If the new holder had read
before, what it then writes overwrites an update: the fence was on, and an update is lost. It counts as what it is, a
late write accepted with the fence on. `ahead_of_the_fence` says of how many that is the reason, and so what to do:
present the token before the first read.
"""

from collections.abc import Iterable

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.rows import TrialRow


def stale_count(rows: Iterable[TrialRow], fence: bool) -> Count:
    """Late writes that the resource accepted, of all that it judged, in trials with the fence on, or off."""
    accepted = refused = 0
    runs = set()
    for row in rows:
        if bool(row.fence) is fence and (row.checked.stale_accepted or row.checked.stale_refused):
            accepted += row.checked.stale_accepted
            refused += row.checked.stale_refused
            runs.add(row.run_id)
    return Count(accepted, accepted + refused, frozenset(runs))


def ahead_of_the_fence(row: TrialRow) -> int:
    """How many late writes a checked fence took because no later holder had shown its token by then."""
    if not row.fence or not row.has_token:
        return 0
    told_ns = {belief.grant: belief.from_ns for belief in row.trial.beliefs}
    shown = [(write.order, told_ns[write.grant]) for write in row.trial.writes if write.accepted]
    late = [(one.order, told_ns[one.grant]) for one in row.checked.stale_writes if one.accepted]
    return sum(
        not any(order < late_order and other_ns > own_ns for order, other_ns in shown) for late_order, own_ns in late
    )


def ahead_words(rows: Iterable[TrialRow]) -> str:
    """How many there were, over some trials, and what closes the gap; "" where there were none."""
    ahead = sum(ahead_of_the_fence(row) for row in rows)
    if not ahead:
        return ""
    return (
        f"{ahead} of these came between the new holder's grant and its first write, before the resource had seen its "
        "token: present the token before the first read"
    )
