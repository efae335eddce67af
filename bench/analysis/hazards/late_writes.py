"""Late writes: what became of those that came to the resource after another client had been granted the key.

Most were sent late, by a holder that was stopped or did not ask (*stale*). Some were sent in time and were held up on
the way (*overtaken*): their writer did nothing wrong, and no look at any clock could have helped it. A fence asks
neither.

A fence compares tokens that the resource has *seen*. Where the new holder shows its token with its first write only, a
late write that comes before it finds no greater token there, and is taken by the rule. If the new holder had read
before, what it then writes overwrites an update: the fence was on, and an update is lost. It counts as what it is, a
late write accepted with the fence on. `ahead_of_the_fence` says of how many that is the reason, and so what to do:
present the token before the first read.

Where it is, a late write may still be taken: before that read, which then sees it. Every later holder built on it, and
no update is lost (`late_read` of the checker). It is counted nowhere as accepted, but separately.
"""

from collections.abc import Iterable

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.rows import TrialRow
from bench.records.hazards import Presentation, Write


def late_accepted(row: TrialRow) -> int:
    """Late writes of one trial that the resource accepted, and that a later holder had not read."""
    return row.checked.stale_accepted + row.checked.overtaken_accepted - row.checked.late_read


def late_refused(row: TrialRow) -> int:
    """Late writes of one trial that the resource refused."""
    return row.checked.stale_refused + row.checked.overtaken_refused


def late_count(rows: Iterable[TrialRow], fence: bool) -> Count:
    """Late writes that the resource accepted, of all that it judged, in trials with the fence on, or off."""
    met = [row for row in rows if bool(row.fence) is fence and (late_accepted(row) or late_refused(row))]
    accepted, refused = sum(map(late_accepted, met)), sum(map(late_refused, met))
    return Count(accepted, accepted + refused, frozenset(row.run_id for row in met))


def ahead_of_the_fence(row: TrialRow) -> int:
    """How many late writes a checked fence took because no later holder had shown its token by then."""
    if not row.fence or not row.has_token:
        return 0
    reported_ns = {belief.grant: belief.from_ns for belief in row.trial.beliefs}
    attempts: tuple[Write | Presentation, ...] = (*row.trial.writes, *row.trial.presentations)
    shown = [(one.order, reported_ns[one.grant]) for one in attempts if one.accepted]
    late = (*row.checked.stale_writes, *row.checked.overtaken_writes)
    return sum(
        not any(order < one.order and other_ns > reported_ns[one.grant] for order, other_ns in shown)
        for one in late
        if one.accepted and not one.read_by_next
    )


def ahead_words(rows: Iterable[TrialRow]) -> str:
    """How many there were, over some trials, and what closes the gap; and how many did no harm. "" where none came."""
    trials = tuple(rows)
    ahead, read = sum(map(ahead_of_the_fence, trials)), sum(row.checked.late_read for row in trials)
    of_these = (
        f"{ahead} of these arrived before the resource saw the new holder's token: present it before the first read"
    )
    beside = f"{read} more arrived before the new holder's first read, which saw {'it' if read == 1 else 'them'}"
    return "; ".join([*([of_these] if ahead else []), *([beside] if read else [])])
