"""How late something that is due at any instant would run, from a record of pauses, and what such a record carries.

Of a pause that delays one waking by L, the instants that are due within it are late by L, by an interval less, and so
on. So the share of instants that are late by more than D is known from the pauses and the interval alone.

A record carries a probability only where it has enough instants for an upper bound (`quantiles.operations_needed`: more
than one in 1 / p, for certain), and where at least three separate pauses are that long: the instants within one long
pause are one event. Nothing beyond that is guessed: pauses have no law that would allow it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.analysis.cells import STALLS_NEEDED
from bench.analysis.quantiles import operations_needed
from bench.records.pauses import Pauses

_HALVINGS = 64
_STEP = 1.2  # of probabilities that are tried


@dataclass(frozen=True, slots=True)
class Late:
    """By how much of all instants no more than `probability` are late."""

    probability: float
    by_ns: float
    pauses: int  # as long as that or longer


@dataclass(frozen=True, slots=True)
class NotCarried:
    """A probability that the record says nothing about, and why."""

    probability: float
    why: str
    record_for_s: float | None  # so long a record would have instants enough; None: it has, but too few pauses


class Lateness:
    """A record of pauses, to be asked."""

    def __init__(self, pauses: Pauses) -> None:
        counts = pauses.histogram.counts
        edges = sorted(counts)
        self._late_ns: npt.NDArray[np.float64] = np.array(edges, dtype=np.float64)
        self._counts: npt.NDArray[np.float64] = np.array([counts[edge] for edge in edges], dtype=np.float64)
        self._interval_ns = float(pauses.interval_ns)
        self.instants = int(self._instants_later_than(-1.0))
        self.observed_s = pauses.observed_s
        self.longest_ns = float(self._late_ns[-1])

    def share_later_than(self, by_ns: float) -> float:
        """Of all instants, as a share."""
        return self._instants_later_than(by_ns) / self.instants

    def at(self, probability: float) -> Late | NotCarried:
        """The least lateness that no more than such a share of instants exceeds. Raises ValueError outside (0, 1)."""
        needed = operations_needed(1.0 - probability)
        if self.instants < needed:
            seconds = needed * self._interval_ns / 1e9
            return NotCarried(probability, f"it needs {needed:,} instants, and there are {self.instants:,}", seconds)
        by_ns = self._least_ns(probability)
        pauses = int(self._counts[self._late_ns >= by_ns].sum())
        if pauses < STALLS_NEEDED:
            return NotCarried(probability, f"it rests on {pauses} pause{'' if pauses == 1 else 's'} as long", None)
        return Late(probability, by_ns, pauses)

    def least_carried(self) -> Late | None:
        """At the smallest probability, to within a fifth, that the record carries; None: it carries none below 1/2."""
        probability = 1.0 / self.instants
        while probability < 0.5:
            found = self.at(probability)
            if isinstance(found, Late):
                return found
            probability *= _STEP
        return None

    def _instants_later_than(self, by_ns: float) -> float:
        more_ns = self._late_ns - by_ns
        late = np.where(more_ns > 0.0, np.ceil(more_ns / self._interval_ns), 0.0)
        return float((late * self._counts).sum())

    def _least_ns(self, probability: float) -> float:
        low, high = -1.0, self.longest_ns
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            low, high = (low, middle) if self.share_later_than(middle) <= probability else (middle, high)
        # The edge of a bucket that the search has come to from above.
        return float(np.round(high))
