"""A run that never was, as the analysis reads one: checked, counted, and with what a test says of it."""

from typing import Any

from bench.analysis.runs import RunRow
from bench.records.schema import RunState
from bench.records.workload import Workload


def run_row(run_id: str, system: str, workload: Workload, repetition: int, **more: Any) -> RunRow:
    """`more` are further fields of `RunRow`."""
    usual: dict[str, Any] = {
        "campaign_id": "made-up",
        "state": RunState.CHECKED,
        "void_cause": None,
        "void_reason": None,
        "passed_checks": (),
        "failed_checks": (),
    }
    return RunRow(run_id=run_id, system=system, workload=workload, repetition=repetition, **{**usual, **more})
