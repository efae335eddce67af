"""k of n trials, from so many runs; and what may be said where nothing was seen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.judge.records import Trial

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Count:
    """`seen` of `of`, which came from these runs."""

    seen: int
    of: int
    runs: frozenset[str] = field(default=frozenset())

    def __add__(self, other: "Count") -> "Count":
        return Count(self.seen + other.seen, self.of + other.of, self.runs | other.runs)

    @property
    def bound(self) -> float:
        """The largest share of runs under which seeing it in none of them is still as likely as 5 %."""
        return (
            1.0 - (1.0 - CONFIDENCE) ** (1.0 / len(self.runs)) if self.seen == 0 and self.of > 0 and self.runs else 1.0
        )

    @property
    def too_few(self) -> bool:
        """Never seen, in so few runs that it may yet happen in more than every second one."""
        return self.of > 0 and self.seen == 0 and self.bound > 0.5


NOTHING = Count(0, 0)


def count(trials: Iterable[Trial], shows: Callable[[Trial], bool]) -> Count:
    """In how many of these trials."""
    found = list(trials)
    return Count(sum(map(shows, found)), len(found), frozenset(one.run.run_id for one in found))


def total(counts: Iterable[Count]) -> Count:
    return sum(counts, NOTHING)
