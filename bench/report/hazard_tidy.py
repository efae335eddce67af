"""A hazard campaign as tidy CSV: one row a trial, and one row a verdict; void runs stand among the trials."""

from collections.abc import Mapping

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.late_writes import late_accepted, late_refused
from bench.analysis.hazards.rows import HazardRun, TrialRow
from bench.report.writers.csv import csv

_TRIAL_COLUMNS = (
    "run_id",
    "scenario",
    "system",
    "repetition",
    "trial",
    "state",
    "void_reason",
    "ttl_ms",
    "grants",
    "writes",
    "overlap_s",
    "late_accepted",
    "late_refused",
    "late_read",
    "overtaken",
    "lost_updates",
    "token_pairs",
    "token_faults",
    "fence_faults",
    "never_served",
    "unknown",
)
_VERDICT_COLUMNS = (
    "system",
    "fault",
    "hazard",
    "verdict",
    "shown",
    "of_trials",
    "of_runs",
    "upper_bound_of_runs",
    "shown_outside",
    "of_outside",
    "late_accepted_fence_off",
    "late_judged_fence_off",
    "late_accepted_fence_on",
    "late_judged_fence_on",
    "unavailable",
    "of_exposed_to_that",
    "overlap_s_max",
    "has_token",
    "emulator",
    "reason",
    "evidence_runs",
    "void_runs",
)


def trials_csv(hazards: HazardEvidence) -> str:
    """One row a trial, with all its parameters and measures; a run without trials has one row, and says why."""
    rows = [flat for run in hazards.runs for flat in _run(run)]
    parameters = sorted({name for flat in rows for name in flat if name.startswith("parameter_")})
    measures = sorted({name for flat in rows for name in flat if name.startswith("measured_")})
    return csv(rows, [*_TRIAL_COLUMNS, *parameters, *measures])


def verdicts_csv(hazards: HazardEvidence) -> str:
    """One row a system and fault, with the counts behind its verdict."""
    rows = [
        {
            "system": one.system,
            "fault": one.fault,
            "hazard": str(one.telling_hazard),
            "verdict": str(one.verdict),
            "shown": one.telling.seen,
            "of_trials": one.telling.of,
            "of_runs": len(one.telling.runs),
            "upper_bound_of_runs": one.telling.upper,
            "shown_outside": one.counted.outside.seen,
            "of_outside": one.counted.outside.of,
            "late_accepted_fence_off": one.counted.late_without.seen,
            "late_judged_fence_off": one.counted.late_without.of,
            "late_accepted_fence_on": one.counted.late_with.seen,
            "late_judged_fence_on": one.counted.late_with.of,
            "unavailable": one.counted.unavailable.seen,
            "of_exposed_to_that": one.counted.unavailable.of,
            "overlap_s_max": one.overlap_ms_max / 1_000.0,
            "has_token": one.has_token,
            "emulator": one.emulator,
            "reason": one.reason,
            "evidence_runs": " ".join(one.evidence),
            "void_runs": " ".join(lost.run_id for lost in one.void),
        }
        for one in hazards.verdicts
    ]
    return csv(rows, _VERDICT_COLUMNS)


def _run(run: HazardRun) -> list[Mapping[str, object]]:
    plan = run.plan
    common: dict[str, object] = {
        "run_id": plan.run_id,
        "scenario": plan.scenario,
        "system": plan.system,
        "repetition": plan.repetition,
        "state": str(run.state),
        "void_reason": f"{run.void_cause}: {run.void_reason}" if run.void else "",
    }
    if not run.trials:
        return [{**common, **{f"parameter_{name}": value for name, value in plan.parameters.items()}}]
    return [{**common, **_trial(row)} for row in run.trials]


def _trial(row: TrialRow) -> Mapping[str, object]:
    checked = row.checked
    return {
        "trial": row.trial.name,
        "ttl_ms": row.ttl_ms,
        "grants": checked.grants,
        "writes": checked.writes,
        "overlap_s": checked.overlap_ns / 1e9,
        "late_accepted": late_accepted(row),
        "late_refused": late_refused(row),
        "late_read": checked.late_read,
        "overtaken": len(checked.overtaken_writes),
        "lost_updates": checked.lost_updates,
        "token_pairs": checked.token_pairs,
        "token_faults": len(checked.token_faults),
        "fence_faults": checked.fence_faults,
        "never_served": checked.never_served,
        "unknown": checked.unknown,
        **{f"parameter_{name}": value for name, value in {**row.plan.parameters, **row.trial.parameters}.items()},
        **{f"measured_{name}": value for name, value in row.trial.measures.items()},
    }
