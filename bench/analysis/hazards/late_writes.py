"""Late writes: what became of those that were sent after another client had been granted the key.

A fence compares tokens that the resource has *seen*. A late write that comes between the new holder's grant and its
first write finds no greater token there, and is taken by the rule, as if the new holder did not exist yet. If the new
holder had read before, what it then writes overwrites an update. So a fence stops late writes from the new holder's
first write on, and to close what is left, the token has to be shown with the first read as well. Such writes are
counted apart: they say nothing of the lock or its token, and they are not nothing either.
"""

from collections.abc import Iterable

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.rows import TrialRow


def stale_count(rows: Iterable[TrialRow], fence: bool) -> Count:
    """Late writes that the resource accepted, of all that it judged, in trials with the fence on, or off.

    With the fence on, without those that came before it could see them (`ahead_of_the_fence`).
    """
    accepted = refused = 0
    for row in rows:
        if bool(row.fence) is fence:
            accepted += row.checked.stale_accepted - ahead_of_the_fence(row)
            refused += row.checked.stale_refused
    return Count(accepted, accepted + refused)


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
    """How many there were, over some trials; "" where there were none."""
    ahead = sum(ahead_of_the_fence(row) for row in rows)
    if not ahead:
        return ""
    return (
        f"{ahead} more came between the new holder's grant and its first write, before the resource had seen its "
        f"token, and {'was' if ahead == 1 else 'were'} accepted: it has to be shown with the first read as well"
    )
