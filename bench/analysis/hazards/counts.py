"""How often something was seen, and what may be said where it was not.

"0 of n" is no proof of never. The bound is the one-sided exact one (Clopper and Pearson 1934): the largest probability
under which seeing no more than `seen` in `of` trials is no rarer than one in twenty. For nothing seen it is
1 - 0.05^(1/n). It takes trials as independent draws, which staged trials are at best; it says how little a small n
proves, not how often a hazard strikes elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from scipy.special import betaincinv

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Count:
    """`seen` of `of` trials. `of` 0: nobody looked."""

    seen: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.seen <= self.of:
            raise ValueError(f"{self.seen} of {self.of}: a part cannot be more than the whole")

    @classmethod
    def over(cls, found: Iterable[bool]) -> "Count":
        """How many of these are true."""
        told = tuple(found)
        return cls(sum(told), len(told))

    @property
    def upper(self) -> float:
        """The exact upper bound of the probability, at 95 %; 1 where nobody looked, or it was seen every time."""
        return upper_bound(self.seen, self.of)

    @property
    def none(self) -> bool:
        """Looked for, and never seen."""
        return self.of > 0 and self.seen == 0

    @property
    def words(self) -> str:
        """For a table: "3 of 6", or "0 of 6, ≤ 39 % at 95 %" where nothing was seen."""
        return self.told("")

    def told(self, noun: str) -> str:
        """The same with what was counted: "3 of 6 pairs", "0 of 6 pairs, ≤ 39 % at 95 %"."""
        counted = f"{self.seen:,} of {self.of:,} {noun}".rstrip()
        return f"{counted}, {self.bound_words}" if self.none else counted

    @property
    def bound_words(self) -> str:
        """The bound alone: "≤ 39 % at 95 %"."""
        percent = 100.0 * self.upper
        shown = f"{percent:.0f}" if percent >= 10.0 else f"{percent:.2g}"
        return f"≤ {shown} % at {100.0 * CONFIDENCE:.0f} %"

    def __add__(self, other: "Count") -> "Count":
        return Count(self.seen + other.seen, self.of + other.of)


NOBODY_LOOKED = Count(0, 0)


def upper_bound(seen: int, of: int) -> float:
    """The one-sided Clopper-Pearson bound, between 0 and 1."""
    if seen >= of:
        return 1.0
    return float(betaincinv(seen + 1, of - seen, CONFIDENCE))
