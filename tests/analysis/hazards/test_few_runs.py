"""No claim is decided by what one run, or a few, did not show."""

import pytest

from bench.analysis.claims import load_claims
from bench.analysis.hazards.claims import judge_by_hazards
from bench.analysis.hazards.rows import HazardRun
from bench.analysis.judgement import Verdict
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders, window

CLAIMS = {claim.id: claim for claim in load_claims()}
_STEP = Staged({"step": "1.5 ttl"}, {"granted": 0.0}, faults=(window("clock_jump", amount=1500.0),))
_LATE = Staged({"late_ttls": 1.2}, {"granted": 0.0, "elapsed_ms": 1200.0})
# Of each claim that rests on something that was never observed: the trials of one run that would decide it.
NEVER_OBSERVED: dict[str, tuple[str, str, list[Staged]]] = {
    "C19": ("gc-pause", "redis", [two_holders(False), two_holders(True)]),
    "C21": ("gc-pause", "zookeeper", [two_holders(False), two_holders(True)]),
    "C23": ("gc-pause", "postgres-row", [pause()]),
    "C15": ("token-sources", "zookeeper", [Staged({"event": "contended"}, pairs=359)]),
    "C44": ("restart", "redis", [Staged({"durability": "always"}, {"still_held": 1.0})]),
    "C45": ("failover", "zookeeper", [Staged({"replicated": True}, {"granted": 0.0})]),
    "C53": ("page-scenario", "redis", [two_holders(False), two_holders(True)]),
    "C56": ("idle-in-transaction", "postgres-row", [pause()]),
    "C58": ("late-quorum", "redlock", [_LATE]),
}


def judged(claim: str, runs: list[HazardRun]) -> Verdict:
    (judgement,) = judge_by_hazards(CLAIMS[claim], records.evidence(*runs))
    return judgement.verdict


@pytest.mark.parametrize("claim", sorted(NEVER_OBSERVED))
def test_it_takes_runs_and_not_trials(claim: str) -> None:
    scenario, system, trials = NEVER_OBSERVED[claim]
    assert judged(claim, records.often(scenario, system, *trials * 20, repetitions=1)) is Verdict.CANNOT_SAY
    assert judged(claim, records.often(scenario, system, *trials, repetitions=4)) is Verdict.CANNOT_SAY
    assert judged(claim, records.often(scenario, system, *trials)) not in (Verdict.CANNOT_SAY, Verdict.NOT_MEASURED)


def test_what_was_observed_once_can_happen() -> None:
    once = records.often("gc-pause", "redlock", two_holders(False, token=False), repetitions=1)
    assert judged("C20", once) is Verdict.HOLDS
    slipped = records.often("gc-pause", "zookeeper", pause(fence=True, overlap_ms=9.0, accepted=1), repetitions=1)
    assert judged("C21", slipped) is Verdict.FAILS
