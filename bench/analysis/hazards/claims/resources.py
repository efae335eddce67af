"""Claims about the resource's side of the fence: C39, C57."""

from collections.abc import Iterator

from bench.analysis.claims import ALL_SYSTEMS, Claim
from bench.analysis.hazards.claims.base import joined, judged, missing
from bench.analysis.hazards.counts import NOBODY_LOOKED, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.judgement import Judgement, Verdict

EMULATED = ("dynamodb-item", "s3-object")  # whatever the lock's own system is


def every_kind(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C57: each kind of resource can check a fence."""
    rows = hazards.resources
    if not rows:
        yield missing(claim, hazards, scenario)
        return
    trials = hazards.of(scenario)
    failing = [row.kind for row in rows if row.accepted_with.seen or row.fence_faults]
    untried = [row.kind for row in rows if not row.accepted_with.of]
    counts = "late writes accepted with the fence on: " + ", ".join(
        f"{row.kind} {row.accepted_with.seen} of {row.accepted_with.of}" for row in rows
    )
    off = sum((row.accepted_without for row in rows), NOBODY_LOOKED)
    counts = joined(counts, f"with it off {off.words}" if off.of else "")
    if failing:
        verdict, why = Verdict.FAILS, f"not {', '.join(failing)}: {counts}"
    elif untried:
        verdict, why = Verdict.CONDITION, f"no late write met the fence of {', '.join(untried)}: {counts}"
    elif emulated := [row.kind for row in rows if row.kind in EMULATED]:
        verdict, why = Verdict.CONDITION, f"{' and '.join(emulated)} each on an emulator of its API: {counts}"
    else:
        verdict, why = Verdict.HOLDS, counts
    fenced = sum((row.accepted_with for row in rows), NOBODY_LOOKED)
    found = f"{len(rows)} kinds, accepted {fenced.words}"
    unseen = [] if failing else [row.accepted_with for row in rows]
    yield judged(claim, verdict, why, trials, system=ALL_SYSTEMS, found=found, unseen=unseen)


def rule(claim: Claim, hazards: HazardEvidence, scenario: str) -> Iterator[Judgement]:
    """C39: the resource refuses tokens up to the last one seen. Then a holder's own second write is refused too."""
    rows = [row for row in hazards.of(scenario) if row.has_token]
    strict, below = (
        Count.over([row for row in rows if row.parameter("rule") == rule], _second_refused)
        for rule in ("at_most", "below")
    )
    if not strict.of:
        yield missing(claim, hazards, scenario)
        return
    why = joined(
        f"refusing a token at most the highest refused the holder's own second write in {strict.words}",
        f"refusing one below it in {below.words}" if below.of else "",
    )
    verdict = Verdict.FAILS if strict.seen else Verdict.HOLDS
    yield judged(claim, verdict, why, rows, system=ALL_SYSTEMS, found=f"refused {strict.words}", unseen=[strict])


def _second_refused(row: TrialRow) -> bool:
    """Was a write refused although its grant had written before, and nobody else since?"""
    for grant in {write.grant for write in row.trial.writes}:
        ordered = sorted((write for write in row.trial.writes if write.grant == grant), key=lambda write: write.sent_ns)
        if any(write.accepted is False for write in ordered[1:]):
            return True
    return False
