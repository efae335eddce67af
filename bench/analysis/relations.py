"""Where an interval lies relative to a claimed range: what decides a claim, and what cannot."""

from enum import StrEnum


class Relation(StrEnum):
    """Decided: below, inside, above. Not decided: an end of the claimed range lies within the interval."""

    BELOW = "below"
    LOW_END = "contains the low end"
    INSIDE = "inside"
    HIGH_END = "contains the high end"
    ABOVE = "above"
    BOTH_ENDS = "contains both ends"

    @property
    def decided(self) -> bool:
        return self in (Relation.BELOW, Relation.INSIDE, Relation.ABOVE)


def relation(low: float, high: float, claimed_low: float, claimed_high: float) -> Relation:
    """Of the interval [low, high] to [claimed_low, claimed_high].

    A one-sided bound is an interval as well: "at least x" is [x, infinity], "at most x" is [0, x]. So it decides only
    in the direction in which it bounds. Open ends of a claim are 0 and infinity. Ends belong to the claimed range.
    """
    if high < claimed_low:
        return Relation.BELOW
    if low > claimed_high:
        return Relation.ABOVE
    under, over = low < claimed_low, high > claimed_high
    if under:
        return Relation.BOTH_ENDS if over else Relation.LOW_END
    return Relation.HIGH_END if over else Relation.INSIDE
