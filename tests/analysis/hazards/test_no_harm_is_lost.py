"""No harm that a record holds is lost on the way to the table: whatever was staged, some line of it answers for it."""

from dataclasses import replace

import pytest

from bench.analysis.hazards.rows import HazardRun, TrialRow
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.verdicts import fault_verdicts
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.hazards import EndOfBelief, StaleWrite
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, window

CALM = frozenset({HazardVerdict.SAFE, HazardVerdict.NOT_MEASURED})
STAGINGS = (
    Staged(),  # a control: nothing was done
    pause(1600.0),
    pause(500.0),
    Staged(faults=(window("clock_jump", amount=1500.0),)),
    Staged(faults=(window("kill"), window("clock_jump", amount=-1500.0))),
    Staged({"whose": "contender"}, faults=(window("client_clock", amount=1500.0),)),
    Staged({"whose": "holder"}, faults=(window("client_clock", amount=1500.0),)),
    Staged({"jump_ms": 14, "nodes_jumped": 3}, faults=(window("clock_jump", amount=14.0),)),
    Staged({"durability": "everysec"}, faults=(window("restart"),)),
    Staged({"nodes_down": 1, "how": "hang"}, {"nodes_down": 1.0}),
    Staged({"nodes_down": 0}, {"nodes_down": 0.0}),
    Staged(faults=(window("partition", 500.0),)),
)
HARMS = {
    "two holders": Staged(overlap_ms=600.0),
    "a late write": Staged(overlap_ms=600.0, accepted=1),
    "nobody served": Staged(never_served=1),
    "never recovered": Staged(measures={"recovery_ms": -1.0}),
    "blocked": Staged(measures={"blocked_ms": -1.0}),
    "stolen": Staged(measures={"stolen": 1.0}),
}


def harmed(staged: Staged, harm: Staged) -> Staged:
    return replace(
        staged,
        measures={**staged.measures, **harm.measures},
        overlap_ms=harm.overlap_ms,
        accepted=harm.accepted,
        never_served=harm.never_served,
    )


@pytest.mark.parametrize("system", ["redis", "redlock", "etcd", "postgres-row", "dynamodb-client-clock"])
@pytest.mark.parametrize("scenario", records.with_verdicts())
def test_some_line_answers_for_every_harm(scenario: str, system: str) -> None:
    subject = subject_of(scenario)
    for staged in STAGINGS:
        for what, harm in HARMS.items():
            run = records.runs(scenario, system, harmed(staged, harm))
            (row,) = run.trials
            if subject.shows(row) or subject.unavailable(row):
                told = [one.verdict for one in fault_verdicts([run])]
                assert set(told) - CALM, f"{what} under {staged}: {told}"


def test_nobody_gets_the_lock_in_a_trial_that_made_for_nothing() -> None:
    stuck = Staged({"durability": "everysec"}, never_served=1, faults=(window("restart"),))
    (got,) = fault_verdicts(records.often("restart", "redis", stuck, durability="everysec"))
    assert got.verdict is HazardVerdict.UNAVAILABLE
    assert got.telling.seen == 6
    assert "nobody got the lock also in 6 of 6 unexposed trials" in got.reason


def test_two_holders_where_nothing_was_done_have_a_line() -> None:
    calm, broken = Staged(), Staged(overlap_ms=600.0, accepted=1)
    assert fault_verdicts(records.often("server-clock", "redis", calm)) == ()
    (got,) = fault_verdicts(records.often("server-clock", "redis", calm, broken))
    assert (got.id, got.verdict) == ("server-clock/nothing-done", HazardVerdict.UNSAFE)


@pytest.mark.parametrize("scenario", ["cable-pulled", "gc-pause", "stalled-leader", "suspended-client"])
@pytest.mark.parametrize("refused_too", [False, True])
def test_a_write_that_was_judged_late_is_a_late_write_in_every_scenario(scenario: str, refused_too: bool) -> None:
    kind = {"cable-pulled": "partition", "stalled-leader": "server_stall", "suspended-client": "suspend"}
    staged = Staged(faults=(window(kind.get(scenario, "pause"), 3000.0),), refused=int(refused_too))
    run = records.runs(scenario, "redis", staged)
    overtaken = StaleWrite(grant="1-0", order=9, accepted=True, by_token=False)
    (got,) = fault_verdicts([_checked(run, overtaken_writes=(overtaken,))])
    assert got.verdict is HazardVerdict.UNSAFE


def test_a_suspended_holder_that_believes_on_is_one_however_soon_the_next_lets_go() -> None:
    """Its lease went to another in its sleep, who let go just after it woke: the sleeper believes on for a second."""
    asleep_ms, beside_ms, on_ms = 1600.0, 10.0, 1000.0
    staged = Staged(overlap_ms=asleep_ms + beside_ms, faults=(window("suspend", asleep_ms),))
    run = records.runs("suspended-client", "redis", staged)
    (row,) = run.trials
    until_ns = int((asleep_ms + on_ms) * records.NS_PER_MS)
    first = row.trial.beliefs[0].model_copy(update={"until_ns": until_ns, "ended_by": EndOfBelief.LOST})
    trial = row.trial.model_copy(update={"beliefs": (first, *row.trial.beliefs[1:])})
    (got,) = fault_verdicts([replace(run, trials=(replace(row, trial=trial),))])
    assert got.verdict is HazardVerdict.UNSAFE


def _checked(run: HazardRun, **found: object) -> HazardRun:
    def changed(row: TrialRow) -> TrialRow:
        return replace(row, checked=row.checked.model_copy(update=found))

    return replace(run, trials=tuple(map(changed, run.trials)))
