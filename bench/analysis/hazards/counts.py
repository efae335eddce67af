"""How often something was seen, and what may be said where it was not.

"0 of n" is no proof of never. Trials of one run share its servers, its machine's mood and its staging, so the run is
the unit, also for zeros: the bound is the one-sided exact one (Clopper and Pearson 1934) on the share of *runs* in
which it would be seen, 1 - 0.05^(1/runs) where it was seen in none. More trials in a run look harder; they are not
more runs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

CONFIDENCE = 0.95
FEW = 0.5  # a bound above it leaves open that it is seen more often than not


class _OfRun(Protocol):
    @property
    def run_id(self) -> str: ...


_Row = TypeVar("_Row", bound=_OfRun)


@dataclass(frozen=True, slots=True)
class Count:
    """`seen` of `of` trials, which were played in these runs. `of` 0: nobody looked."""

    seen: int
    of: int
    runs: frozenset[str] = field(default=frozenset(), compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.seen <= self.of:
            raise ValueError(f"{self.seen} of {self.of}: a part cannot be more than the whole")

    @classmethod
    def over(cls, rows: Iterable[_Row], shows: Callable[[_Row], bool]) -> "Count":
        """In how many of these trials it shows."""
        found = tuple(rows)
        return cls(sum(bool(shows(row)) for row in found), len(found), frozenset(row.run_id for row in found))

    @property
    def none(self) -> bool:
        """Looked for, and never seen."""
        return self.of > 0 and self.seen == 0

    @property
    def few(self) -> bool:
        """Never seen, in so few runs that it may still happen in more of them than not: no verdict rests on that."""
        return self.none and self.upper > FEW

    @property
    def upper(self) -> float:
        """The exact upper bound, at 95 %, of the share of runs that would show it; 1 where it was seen."""
        if self.seen or not self.runs:
            return 1.0
        return 1.0 - float((1.0 - CONFIDENCE) ** (1.0 / len(self.runs)))

    @property
    def words(self) -> str:
        """For a table: "3 of 6", or "0 of 36 in 6 runs, ≤ 39 % of runs at 95 % confidence" where nothing was seen."""
        return self.worded("")

    def worded(self, noun: str) -> str:
        """The same with what was counted: "3 of 6 pairs", "0 of 718 pairs in 2 runs, ≤ 78 % of runs at 95 %
        confidence"."""
        counted = f"{self.seen:,} of {self.of:,} {noun}".rstrip()
        return f"{counted} in {self.runs_words}, {self.bound_words}" if self.none else counted

    @property
    def runs_words(self) -> str:
        """1 run, 6 runs."""
        return f"{len(self.runs)} run{'' if len(self.runs) == 1 else 's'}"

    @property
    def bound_words(self) -> str:
        """The bound alone: "≤ 39 % of runs at 95 % confidence"."""
        return f"≤ {100.0 * self.upper:.0f} % of runs at {100.0 * CONFIDENCE:.0f} % confidence"

    def __add__(self, other: "Count") -> "Count":
        return Count(self.seen + other.seen, self.of + other.of, self.runs | other.runs)


NOBODY_LOOKED = Count(0, 0)
