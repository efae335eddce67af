"""Do the runs of a cell fall into two heaps? Then their middle is a value that no run had, and both are to be shown."""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

_RUNS_NEEDED = 4
_APART = 1.25  # the upper mode by the lower one: an interval shows less well enough
_GAP_BY_SPREAD = 2.0  # the gap between the heaps, by the extent of the wider heap


def modes(values: Sequence[float]) -> tuple[float, ...]:
    """The centre of all values (positive), or those of two heaps, the lower first; medians. Empty for no value.

    Two heaps are two where the widest gap between neighbours, of the values' logarithms, is more than twice as wide as
    either heap, and each has two values at least: one run far off is a disturbance, not a mode.
    """
    if not values:
        return ()
    ordered = sorted(values)
    if len(ordered) >= _RUNS_NEEDED:
        gaps = [math.log(upper / lower) for lower, upper in pairwise(ordered)]
        split = max(range(len(gaps)), key=lambda place: gaps[place]) + 1
        low, high = ordered[:split], ordered[split:]
        widest = max(math.log(heap[-1] / heap[0]) for heap in (low, high))
        if min(len(low), len(high)) > 1 and gaps[split - 1] > _GAP_BY_SPREAD * widest:
            centres = (median(low), median(high))
            if centres[1] >= _APART * centres[0]:
                return centres
    return (median(ordered),)
