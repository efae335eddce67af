"""What every judge of a claim has in common: its trials, its words, and what it says where there are none."""

from collections.abc import Callable, Collection, Iterable, Sequence

from bench.analysis import names
from bench.analysis.claims import Claim
from bench.analysis.hazards.counts import Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.rows import TrialRow, run_ids
from bench.analysis.intervals import RUNS_FOR_AN_INTERVAL
from bench.analysis.judgement import Judgement, Verdict

# The last is the scenario whose file names the claim: its own trials are what the claim is judged by first of all.
Judge = Callable[[Claim, HazardEvidence, str], Iterable[Judgement]]

EMULATED = "on an emulator of the API"


def judged(
    claim: Claim,
    verdict: Verdict,
    why: str,
    rows: Sequence[TrialRow],
    *,
    system: str | None = None,
    found: str = "",
    unseen: Sequence[Count] = (),
) -> Judgement:
    """A judgement from these trials. What an emulator shows, it shows of the emulator: that is a condition.

    `unseen`: counts on whose nought the verdict rests. Harm that was observed once can happen; that it was never
    observed says little after a few runs, and nothing after one.
    """
    if few := [count for count in unseen if count.few]:
        verdict = Verdict.CANNOT_SAY
        why = f"never observed, but only in {few[0].runs_words}: {why}"
    if rows and all(row.emulator for row in rows) and verdict is not Verdict.NOT_TESTABLE:
        verdict = Verdict.CONDITION if verdict is Verdict.HOLDS else verdict
        why = f"{EMULATED}: {why}"
    return Judgement(claim, system or claim.system, verdict, why, (), False, run_ids(rows), found)


def of_times(verdict: Verdict, why: str, runs: Collection[str]) -> tuple[Verdict, str]:
    """What rests on times that were measured takes as many runs as an interval does."""
    if len(runs) >= RUNS_FOR_AN_INTERVAL:
        return verdict, why
    return Verdict.CANNOT_SAY, f"{len(runs)} of the {RUNS_FOR_AN_INTERVAL} runs needed: {why}"


def missing(claim: Claim, hazards: HazardEvidence, *scenarios: str, system: str | None = None) -> Judgement:
    """Nothing to judge from: the runs were void, with the reason, no trial was exposed, or there was none."""
    about = system or claim.system
    void = [
        one
        for one in hazards.void
        if one.scenario in scenarios and (names.claimed_as(one.system) == about or one.system == about)
    ]
    if void:
        why = "; ".join(dict.fromkeys(f"void, {one.cause}: {one.reason}" for one in void))
        return Judgement(claim, about, Verdict.NOT_TESTABLE, why, (), False, tuple(one.run_id for one in void))
    played = [row for scenario in scenarios for row in hazards.of(scenario, about)]
    why = f"no {' or '.join(scenarios)} run of {about} in this campaign"
    if played:
        why = f"no trial could have shown the harm: {', '.join(Exposed.of(played).why_unexposed)}"
    return Judgement(claim, about, Verdict.NOT_MEASURED, why, (), False, ())


def systems_of(rows: Iterable[TrialRow]) -> tuple[str, ...]:
    """The systems of these trials, in table order."""
    return tuple(sorted({row.system for row in rows}, key=lambda name: (names.position(name), name)))


def joined(*parts: str) -> str:
    """Clauses that are not empty, joined by semicolons."""
    return "; ".join(part for part in parts if part)
