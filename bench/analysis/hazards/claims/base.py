"""What every judge of a claim has in common: its trials, its words, and what it says where there are none."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.claims import Claim
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.late_writes import ahead_words, stale_count
from bench.analysis.hazards.rows import TrialRow, run_ids
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.judgement import Judgement, Verdict

Judge = Callable[[Claim, HazardEvidence], Iterable[Judgement]]

EMULATED = "on an emulator of the API"


@dataclass(frozen=True, slots=True)
class Held:
    """What trials say about two holders: how often, and what became of the late writes."""

    rows: tuple[TrialRow, ...]  # those that could show it
    shown: Count
    without: Count  # late writes accepted, fence off
    fenced: Count  # late writes accepted, fence on

    @classmethod
    def of(cls, rows: Iterable[TrialRow]) -> "Held":
        """Counted as the verdicts count them: a trial that could not show the hazard proves nothing."""
        found = list(rows)
        showing = [subject_of(row.scenario).shows(row) for row in found]
        counted = [
            (row, shows)
            for row, shows in zip(found, showing, strict=True)
            if shows or subject_of(row.scenario).exposed(row)
        ]
        kept = tuple(row for row, _ in counted)
        return cls(kept, Count.over(shows for _, shows in counted), stale_count(kept, False), stale_count(kept, True))

    @property
    def has_token(self) -> bool:
        return any(row.has_token for row in self.rows)

    @property
    def ahead(self) -> str:
        """Of late writes that a fence could not see yet; "" where there were none."""
        return ahead_words(self.rows)


def judged(
    claim: Claim,
    verdict: Verdict,
    why: str,
    rows: Sequence[TrialRow],
    *,
    system: str | None = None,
    found: str = "",
) -> Judgement:
    """A judgement from these trials. What an emulator shows, it shows of the emulator: that is a condition."""
    if rows and all(row.emulator for row in rows) and verdict is not Verdict.NOT_TESTABLE:
        verdict = Verdict.CONDITION if verdict is Verdict.HOLDS else verdict
        why = f"{EMULATED}: {why}"
    return Judgement(claim, system or claim.system, verdict, why, (), False, run_ids(rows), found)


def missing(claim: Claim, hazards: HazardEvidence, *scenarios: str, system: str | None = None) -> Judgement:
    """Nothing to judge from: the runs were void, with the reason, or there was none."""
    about = system or claim.system
    void = [
        one
        for one in hazards.void
        if one.scenario in scenarios and (names.claimed_as(one.system) == about or one.system == about)
    ]
    if void:
        why = "; ".join(dict.fromkeys(f"void, {one.cause}: {one.reason}" for one in void))
        return Judgement(claim, about, Verdict.NOT_TESTABLE, why, (), False, tuple(one.run_id for one in void))
    why = f"no {' or '.join(scenarios)} run of {about} in this campaign"
    return Judgement(claim, about, Verdict.NOT_MEASURED, why, (), False, ())


def systems_of(rows: Iterable[TrialRow]) -> tuple[str, ...]:
    """The systems of these trials, in table order."""
    return tuple(sorted({row.system for row in rows}, key=lambda name: (names.position(name), name)))


def joined(*parts: str) -> str:
    """Clauses that are not empty, joined by semicolons."""
    return "; ".join(part for part in parts if part)
