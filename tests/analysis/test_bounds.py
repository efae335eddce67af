"""What makes a run's rates only bounds, and by which word."""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.runs import RunRow, run_rows
from bench.records.schema import LadderStep
from tests import campaigns

RISING = tuple(LadderStep(clients=1 << place, window_s=1.0, pairs=9_000 << place, acquire="") for place in range(3))


def row_of(folder: Path, workload: str, *failed: str, **record: Any) -> RunRow:
    """The row of one run of Redis whose record has these fields, and which failed these checks."""
    (plan,) = campaigns.plans(systems=["redis"], workloads=[workload], repetitions=1)
    campaign = campaigns.start(folder, (plan,))
    measured = campaigns.measured(plan, campaigns.SHAPES["redis"], **record)
    campaigns.add_run(campaign, plan, measured, *(campaigns.check(name, passed=False) for name in failed))
    (row,) = run_rows(campaign)
    return row


@pytest.mark.parametrize(
    ("workload", "failed", "bounds"),
    [
        ("saturation", [], ()),
        ("saturation", ["generator_cpu"], ("generator",)),
        ("saturation", ["knee"], ("clients",)),
        ("saturation", ["knee", "machine_cpu"], ("machine", "clients")),
        ("uncontended", ["client_cpu"], ("client",)),
        ("contended", ["steady_state"], ()),
    ],
)
def test_a_failed_check_says_what_binds(
    workload: str, failed: list[str], bounds: tuple[str, ...], tmp_path: Path
) -> None:
    assert row_of(tmp_path, workload, *failed).bounds == bounds


def test_a_client_that_computed_all_the_time_is_found_in_records_from_before_its_check(tmp_path: Path) -> None:
    row = row_of(tmp_path, "uncontended", generator_cpu_s=0.96 * campaigns.WINDOW_S)
    assert row.bounds == ("client",)


def test_where_something_binds_the_better_of_ladder_and_window_is_the_bound(tmp_path: Path) -> None:
    free = row_of(tmp_path / "free", "saturation", ladder=RISING, ladder_recorded=True)
    bound = row_of(tmp_path / "bound", "saturation", "knee", ladder=RISING, ladder_recorded=True)
    window = free.metrics["throughput_pairs_per_s"]
    assert window is not None
    assert window < 36_000
    assert bound.metrics["throughput_pairs_per_s"] == 36_000


def test_a_ladder_that_did_less_work_than_the_window_bounds_nothing(tmp_path: Path) -> None:
    """Older records: nothing was recorded during the climb, so its steps were quicker."""
    older = row_of(tmp_path / "older", "saturation", "knee", ladder=RISING)
    window = row_of(tmp_path / "window", "saturation", "knee")
    assert older.metrics["throughput_pairs_per_s"] == window.metrics["throughput_pairs_per_s"]
