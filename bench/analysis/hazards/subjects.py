"""What each scenario is evidence for: its meaning, with the functions that it names.

Records name their scenario, and its file says what its hazard looks like. A scenario without a file is judged by two
holders at once, under its own name.
"""

from dataclasses import dataclass, field
from functools import cache

from bench.analysis.hazards import exposure, harms, variants
from bench.analysis.hazards.exposure import Unexposed
from bench.analysis.hazards.harms import Hazard, Predicate
from bench.analysis.hazards.meanings import function, line_of, meaning_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.variants import Variant, VariantOf
from bench.errors import LockbenchError


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the verdicts: its key is the scenario that gives the fault, and the variant. Words are printed only."""

    fault: str
    variant: str = ""
    words: str = field(default="", compare=False)  # "restart of all servers (durability none)"

    @property
    def id(self) -> str:
        """restart, restart/durability-none."""
        return f"{self.fault}/{self.variant}" if self.variant else self.fault


@dataclass(frozen=True, slots=True)
class Subject:
    """One scenario. Whether a trial is exposed is decided from its staging; one that is not proves no safety."""

    plain: Line
    place: int  # of the fault in a table
    hazard: Hazard
    shows: Predicate
    unexposed: Unexposed  # why a trial could not have shown it; "" where it could
    unavailable: Predicate
    unexposed_to_that: Unexposed  # why a trial could not have shown that nobody gets the lock
    variant: VariantOf
    searched: bool  # trials are steps of a search: harm outside the exposed ones is reported as the smallest step

    def exposed(self, row: TrialRow) -> bool:
        """Could this trial have shown the harm?"""
        return not self.unexposed(row)

    def line(self, row: TrialRow) -> Line | None:
        """The line that a trial belongs to. None where nothing was done: a control belongs to no fault."""
        variant = self.variant(row)
        return None if variant is None else self.apart(variant)

    def apart(self, variant: Variant) -> Line:
        """A line of this fault."""
        words = f"{self.plain.words} ({variant.words})" if variant.words else self.plain.words
        return Line(self.plain.fault, variant.id, words)


@cache
def subject_of(scenario: str) -> Subject:
    """What a scenario is evidence for."""
    meaning, owner = meaning_of(scenario), line_of(scenario)
    unexposed = function(scenario, meaning.exposed, exposure.PLAIN, exposure.MADE)
    to_that = meaning.exposed_to_unavailable
    return Subject(
        plain=Line(owner, words=meaning_of(owner).fault or owner),
        place=meaning_of(owner).place,
        hazard=_hazard(scenario, meaning.hazard),
        shows=function(scenario, meaning.shows, harms.PLAIN, harms.MADE),
        unexposed=unexposed,
        unavailable=function(scenario, meaning.unavailable, harms.PLAIN, harms.MADE),
        unexposed_to_that=unexposed if to_that is None else function(scenario, to_that, exposure.PLAIN, exposure.MADE),
        variant=function(scenario, meaning.variant, variants.PLAIN, variants.MADE),
        searched=meaning.searched,
    )


def _hazard(scenario: str, hazard: str) -> Hazard:
    try:
        return Hazard(hazard)
    except ValueError:
        raise LockbenchError(f"{scenario}: no harm {hazard!r}: choose from {', '.join(Hazard)}") from None
