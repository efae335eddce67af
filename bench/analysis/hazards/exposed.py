"""The trials of one fault, counted: those that could have shown its harm, and apart from them all others.

One set of exposed trials, which their staging decides, stands behind every count of a verdict and of a claim. Harm in
any other trial is no frequency, since nothing made for it, but it is harm: it is counted apart, and a verdict
answers for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.late_writes import ahead_words, late_count
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.subjects import Subject, subject_of
from bench.analysis.hazards.vocabulary import HazardVerdict


@dataclass(frozen=True, slots=True)
class Exposed:
    """Immutable counts over some trials."""

    rows: tuple[TrialRow, ...]  # the exposed ones
    others: tuple[TrialRow, ...]
    shown: Count  # exposed trials in which the harm showed, whatever the fence did
    outside: Count  # the same of the others; nothing where they are only steps of a search
    # Late writes accepted, of all that the resource judged, whichever trial they came in: that a write is late is all
    # that it takes to try a fence.
    late_without: Count  # with the fence off
    late_with: Count  # with the fence on
    unavailable: Count  # trials in which nobody got the lock, of those exposed to that
    unavailable_outside: Count  # the same of the others

    @classmethod
    def of(cls, rows: Sequence[TrialRow]) -> "Exposed":
        """Each trial by its own scenario: two may share a fault (a jump of one server's clock, and of several)."""
        exposed = tuple(row for row in rows if _about(row).exposed(row))
        others = tuple(row for row in rows if not _about(row).exposed(row))
        return cls(
            rows=exposed,
            others=others,
            shown=Count.over(exposed, _shows),
            outside=Count.over((row for row in others if not _about(row).searched), _shows),
            late_without=late_count(rows, False),
            late_with=late_count(rows, True),
            unavailable=Count.over((row for row in rows if not _about(row).unexposed_to_that(row)), _unavailable),
            unavailable_outside=Count.over((row for row in rows if _about(row).unexposed_to_that(row)), _unavailable),
        )

    @property
    def harmful(self) -> tuple[TrialRow, ...]:
        """All that showed the harm, exposed or not: what a verdict must answer for."""
        return tuple(row for row in self.judged if _shows(row))

    @property
    def judged(self) -> tuple[TrialRow, ...]:
        """What a verdict rests on: the exposed trials, and each other that showed the harm all the same."""
        return (*self.rows, *(row for row in self.others if _shows(row)))

    @property
    def has_token(self) -> bool:
        return any(row.has_token for row in (*self.rows, *self.others))

    @property
    def verdict(self) -> HazardVerdict:
        """The verdict from these trials alone."""
        elsewhere = self.unavailable_outside.seen
        return decide(len(self.harmful), self.late_with, self.has_token, self.shown, self.unavailable, elsewhere)

    @property
    def few(self) -> bool:
        """Does `safe`, or that a fence is enough, rest on what was not seen in too few runs to decide anything?"""
        if self.verdict is HazardVerdict.WITH_FENCING:
            return self.late_with.few
        return self.verdict is HazardVerdict.SAFE and (self.shown if self.shown.of else self.unavailable).few

    @property
    def of_one_run(self) -> bool:
        """Is it one run alone that `unsafe` rests on? Its harm can happen; a verdict takes another run."""
        count = self.shown if self.shown.seen else self.outside
        return self.verdict is HazardVerdict.UNSAFE and len(count.runs) == 1

    @property
    def ahead(self) -> str:
        """Of late writes that a fence could not see yet, whichever trial they came in; "" where there were none."""
        return ahead_words((*self.rows, *self.others))

    @property
    def why_unexposed(self) -> tuple[str, ...]:
        """Why the others could not have shown it, each reason once."""
        return tuple(dict.fromkeys(_about(row).unexposed(row) for row in self.others))


def decide(
    harmful: int, late_with: Count, has_token: bool, shown: Count, unavailable: Count, elsewhere: int = 0
) -> HazardVerdict:
    """The verdict from the counts alone: `harmful` trials of any kind, late writes with the fence on in all of them,
    and `elsewhere` the trials in which nobody got the lock though nothing made for that."""
    if harmful:
        fenced = has_token and late_with.of > 0 and late_with.seen == 0
        return HazardVerdict.WITH_FENCING if fenced else HazardVerdict.UNSAFE
    if unavailable.seen or elsewhere:
        return HazardVerdict.UNAVAILABLE
    return HazardVerdict.SAFE if shown.of or unavailable.of else HazardVerdict.NOT_MEASURED


def _about(row: TrialRow) -> Subject:
    return subject_of(row.scenario)


def _shows(row: TrialRow) -> bool:
    return _about(row).shows(row)


def _unavailable(row: TrialRow) -> bool:
    return _about(row).unavailable(row)
