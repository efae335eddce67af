"""The greatest value up to an instant, asked many times: what every sweep of the checker needs."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, TypeVar

Value = TypeVar("Value", int, tuple[int, int])


class RunningMaximum(Generic[Value]):
    """Values at instants (ns). Building it costs one sort, a question one bisection."""

    def __init__(self, entries: Iterable[tuple[int, Value]]) -> None:
        ordered = sorted(entries)
        self._instants = [at_ns for at_ns, _ in ordered]
        self._greatest: list[Value] = list(accumulate((value for _, value in ordered), max))

    def up_to(self, at_ns: int) -> Value | None:
        """The greatest value at or before an instant; None when there is none yet."""
        place = bisect_right(self._instants, at_ns)
        return self._greatest[place - 1] if place else None
