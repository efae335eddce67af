"""A hazard campaign as tidy CSV: one row a trial, and one row a verdict; void runs stand among the trials."""

from collections.abc import Callable, Mapping

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.late_writes import late_accepted, late_refused
from bench.analysis.hazards.rows import HazardRun, TrialRow
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.report.writers.csv import csv, csv_table

_Trial = tuple[HazardRun, TrialRow | None]  # None: the run has no trial
_PARAMETER, _MEASURED = "parameter_", "measured_"  # begin the names of their columns


def _of_trial(value: Callable[[TrialRow], object]) -> Callable[[_Trial], object]:
    return lambda one: None if one[1] is None else value(one[1])


_TRIALS: Mapping[str, Callable[[_Trial], object]] = {
    "run_id": lambda one: one[0].run_id,
    "scenario": lambda one: one[0].scenario,
    "system": lambda one: one[0].system,
    "repetition": lambda one: one[0].plan.repetition,
    "trial": _of_trial(lambda row: row.trial.name),
    "state": lambda one: str(one[0].state),
    "void_reason": lambda one: f"{one[0].void_cause}: {one[0].void_reason}" if one[0].void else "",
    "ttl_ms": _of_trial(lambda row: row.ttl_ms),
    "grants": _of_trial(lambda row: row.checked.grants),
    "writes": _of_trial(lambda row: row.checked.writes),
    "overlap_s": _of_trial(lambda row: row.checked.overlap_ns / 1e9),
    "late_accepted": _of_trial(late_accepted),
    "late_refused": _of_trial(late_refused),
    "late_read": _of_trial(lambda row: row.checked.late_read),
    "overtaken": _of_trial(lambda row: len(row.checked.overtaken_writes)),
    "lost_updates": _of_trial(lambda row: row.checked.lost_updates),
    "token_pairs": _of_trial(lambda row: row.checked.token_pairs),
    "token_faults": _of_trial(lambda row: len(row.checked.token_faults)),
    "fence_faults": _of_trial(lambda row: row.checked.fence_faults),
    "never_served": _of_trial(lambda row: row.checked.never_served),
    "unknown": _of_trial(lambda row: row.checked.unknown),
}
_VERDICTS: Mapping[str, Callable[[FaultVerdict], object]] = {
    "system": lambda one: one.system,
    "fault": lambda one: one.fault,
    "hazard": lambda one: str(one.telling_hazard),
    "verdict": lambda one: str(one.verdict),
    "shown": lambda one: one.telling.seen,
    "of_trials": lambda one: one.telling.of,
    "of_runs": lambda one: len(one.telling.runs),
    "upper_bound_of_runs": lambda one: one.telling.upper,
    "shown_outside": lambda one: one.counted.outside.seen,
    "of_outside": lambda one: one.counted.outside.of,
    "late_accepted_fence_off": lambda one: one.counted.late_without.seen,
    "late_judged_fence_off": lambda one: one.counted.late_without.of,
    "late_accepted_fence_on": lambda one: one.counted.late_with.seen,
    "late_judged_fence_on": lambda one: one.counted.late_with.of,
    "unavailable": lambda one: one.counted.unavailable.seen,
    "of_exposed_to_that": lambda one: one.counted.unavailable.of,
    "overlap_s_max": lambda one: one.overlap_ms_max / 1_000.0,
    "has_token": lambda one: one.has_token,
    "emulator": lambda one: one.emulator,
    "reason": lambda one: one.reason,
    "evidence_runs": lambda one: " ".join(one.evidence),
    "void_runs": lambda one: " ".join(lost.run_id for lost in one.void),
}


def trials_csv(hazards: HazardEvidence) -> str:
    """One row a trial, with all its parameters and measures; a run without trials has one row, and says why."""
    rows = trial_rows(hazards)
    varying = sorted({name for row in rows for name in row if name.startswith(_PARAMETER)})
    timed = sorted({name for row in rows for name in row if name.startswith(_MEASURED)})
    return csv(rows, [*_TRIALS, *varying, *timed])


TRIAL_COLUMNS = list(_TRIALS)  # of every trial; with parameters and measures there are more


def trial_rows(hazards: HazardEvidence) -> list[Mapping[str, object]]:
    """The same as rows by column; each has the parameters and measures of its own trial only."""
    return [
        {
            **{name: value((run, row)) for name, value in _TRIALS.items()},
            **_parameters(run, row),
            **({} if row is None else {f"{_MEASURED}{name}": value for name, value in row.trial.measures.items()}),
        }
        for run in hazards.runs
        for row in run.trials or (None,)
    ]


def verdicts_csv(hazards: HazardEvidence) -> str:
    """One row a system and fault, with the counts behind its verdict."""
    return csv_table(_VERDICTS, hazards.verdicts)


def _parameters(run: HazardRun, row: TrialRow | None) -> Mapping[str, object]:
    parameters = {**run.plan.parameters, **(row.trial.parameters if row is not None else {})}
    return {f"{_PARAMETER}{name}": value for name, value in parameters.items()}
