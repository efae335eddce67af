"""Holds what was printed against the judge's own."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tests.judge.counts import Count
from tests.judge.sentences import Clause, Told

_Row = TypeVar("_Row")

# "3 of 6 pairs in 2 runs, ≤ 78 %"; a part of a time ("1,004 of 2,000 ms") is no count.
COUNT = re.compile(
    r"(?<![\d.,])(\d[\d,]*) of (\d[\d,]*\d|\d)(?![\d,]* ms)(?: pairs(?: of grants)?)?"
    r"(?: in (\d+) runs?, ≤ (\d+) % of runs at 95 % confidence)?"
)
_RUNS_AND_A_BOUND = re.compile(r" in [\d,]+ runs?, ≤")


@dataclass
class Comparison:
    """What was held against each other."""

    cells: int = 0
    wrong: list[str] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)  # of the file, in which something was wrong
    _line: int | None = None

    def each(self, rows: Iterable[_Row], number: Callable[[_Row], int]) -> Iterator[_Row]:
        """Row by row: what is found to be wrong meanwhile stands in that line."""
        for row in rows:
            self._line = number(row)
            yield row
        self._line = None

    def _differs(self, told: str) -> None:
        self.wrong.append(told)
        if self._line is not None:
            self.lines.add(self._line)

    def same(self, where: str, printed: object, judged: object) -> None:
        self.cells += 1
        if printed != judged:
            self._differs(f"{where}: printed {printed!r}, judged {judged!r}")

    def near(self, where: str, printed: str, judged: float) -> None:
        """A number as it was rounded for print."""
        digits = printed.replace(",", "").replace("−", "-").lstrip("<+")
        places = len(digits.partition(".")[2])
        last = 10.0**-places
        self.cells += 1
        # "<0.001" is said of what is not nought, and would be rounded to it.
        small = printed.startswith("<") and float(digits) == last and 0.0 < judged < last
        if float(digits) != float(f"{judged:.{places}f}") and not small:
            self._differs(f"{where}: printed {printed}, judged {judged:g}")

    def close(self, where: str, printed: float, judged: float, slack: float) -> None:
        """A number as it is stored: the judge reads the same instants on a grid, so it may be off by `slack`."""
        self.cells += 1
        if abs(printed - judged) > max(slack, 1e-3 * abs(judged)):
            self._differs(f"{where}: printed {printed:g}, judged {judged:g}")

    def counts(self, where: str, printed: str, judged: Sequence[Count]) -> None:
        """Every count of a text, in its order."""
        found = list(COUNT.finditer(printed))
        self.same(f"{where}, how many counts", len(found), len(judged))
        for match, one in zip(found, judged, strict=False):
            self._count(where, match, one)

    def told(self, where: str, printed: str, judged: Sequence[Told]) -> None:
        """Every count of a text, each known by the words around it, and none left out that must be there."""
        missing = {one.words for one in judged if one.needed}
        for match in COUNT.finditer(printed):
            about = [one for one in judged if one.is_at(printed, match)]
            self.same(f"{where}, how many counts {match.group()!r} may be", len(about), 1)
            for one in about:
                self._count(f"{where}, {one.words}", match, one.count)
                missing.discard(one.words)
        self.same(f"{where}, counts that are not there", missing, set())

    def clauses(self, where: str, printed: str, judged: Sequence[Clause]) -> None:
        """Numbers that are known by the words around them."""
        for one in judged:
            found = list(re.finditer(one.words, printed))
            if one.needed:
                self.same(f"{where}, is it told: {one.words}", bool(found), True)
            for match in found:
                told = [number for number in match.groups() if number is not None]
                self.same(f"{where}, {one.words}, how many numbers", len(told), len(one.values))
                for number, value in zip(told, one.values, strict=False):
                    self.near(f"{where}, {one.words}", number, value)

    def _count(self, where: str, match: re.Match[str], one: Count) -> None:
        self.same(where, pair(match), (one.seen, one.of))
        if match.group(3):
            bound = (int(match.group(3)), int(match.group(4)))
            self.same(f"{where}, runs and bound", bound, (len(one.runs), round(100.0 * one.bound)))
        else:
            # Words of another kind would pass for no bound at all.
            unread = _RUNS_AND_A_BOUND.match(match.string, match.end()) is not None
            self.same(f"{where}, a bound that nobody can read", unread, False)


def pair(match: re.Match[str]) -> tuple[int, int]:
    seen, of = (int(match.group(place).replace(",", "")) for place in (1, 2))
    return seen, of
