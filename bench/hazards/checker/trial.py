"""One trial, or all of a run, through every check."""

from collections.abc import Sequence

from bench.hazards.checker.fence import fence_faults_of
from bench.hazards.checker.overlaps import overlaps_of, union_ns
from bench.hazards.checker.tokens import token_faults_of
from bench.hazards.checker.waiters import never_served_of
from bench.hazards.checker.wellformed import require_wellformed
from bench.hazards.checker.writes import lost_updates_of, overtaken_writes_of, stale_writes_of
from bench.records.hazards import HazardChecked, HazardHistory, Trial, TrialChecked


def check_trial(trial: Trial) -> TrialChecked:
    """Judge one trial. The order of its records does not matter. Raises ValueError for one that contradicts itself."""
    require_wellformed(trial)
    overlaps = overlaps_of(trial)
    token_pairs, token_faults = token_faults_of(trial)
    return TrialChecked(
        name=trial.name,
        parameters=trial.parameters,
        grants=len(trial.beliefs),
        writes=len(trial.writes),
        overlaps=overlaps,
        overlap_ns=union_ns(overlaps),
        stale_writes=stale_writes_of(trial),
        overtaken_writes=overtaken_writes_of(trial),
        lost_updates=lost_updates_of(trial),
        token_pairs=token_pairs,
        token_faults=token_faults,
        fence_faults=fence_faults_of(trial),
        never_served=never_served_of(trial),
        unknown=_unknown(trial),
    )


def check_history(history: HazardHistory, staging: Sequence[str]) -> HazardChecked:
    """Judge every trial of a run. `staging` says what was not as the scenario wanted it; it is passed on.

    Raises ValueError, with the name of the trial, for a history that contradicts itself.
    """
    return HazardChecked(trials=tuple(check_trial(trial) for trial in history.trials), staging=tuple(staging))


def _unknown(trial: Trial) -> int:
    asks = sum(ask.outcome == "unknown" for ask in trial.asks)
    writes = sum(write.accepted is None for write in trial.writes)
    return asks + writes + sum(one.accepted is None for one in trial.presentations)
