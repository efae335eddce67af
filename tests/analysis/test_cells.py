"""Rows and cells: what may be pooled, what is left out, and what is shown instead of a number."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.cells import TOO_SMALL, Absent, Cell, amplification, cell_frame, cells_named, cells_of
from bench.analysis.intervals import Estimate, Method
from bench.analysis.metrics import METRICS, OF_JOBS, OF_STRANGERS, Direction, metric
from bench.analysis.notes import CHECKS, FAILED, OUTCOMES, SMALL_SAMPLE, Note
from bench.analysis.runs import GENERATOR_CHECK, RunRow, Setting, run_frame, run_rows
from bench.records.schema import Facts, Failed, Measured, RunState, Workload
from bench.records.store import StoreError
from tests import campaigns


def campaign_of(
    root: Path, system: str, workload: str, records: Sequence[Measured | Failed | None]
) -> tuple[Cell, ...]:
    """The cells of a campaign whose runs left these records behind."""
    plans = campaigns.plans((system,), (workload,), len(records))
    folder = campaigns.start(root, plans)
    for plan, record in zip(plans, records, strict=True):
        campaigns.add_run(folder, plan, record)
    return cells_of(run_rows(folder))


def some_measured(system: str, workload: str, count: int, **changes: object) -> list[Measured]:
    plans = campaigns.plans((system,), (workload,), count)
    return [campaigns.measured(plan, campaigns.SHAPES[system], **changes) for plan in plans]


def test_runs_of_one_cell_are_pooled_and_each_counts_once(tmp_path: Path) -> None:
    (cell,) = campaign_of(tmp_path, "redis", "uncontended", some_measured("redis", "uncontended", 3))
    value = cell.value("acquire_us_p50")
    assert isinstance(value, Estimate)
    assert value.runs == 3
    each = sorted(run.metrics["acquire_us_p50"] or 0.0 for run in cell.used)
    assert (value.low, value.value, value.high) == tuple(each)
    assert value.method is Method.RANGE


def test_another_server_version_is_another_cell(tmp_path: Path) -> None:
    records = some_measured("redis", "uncontended", 3)
    newer = Facts(version="8.0.0", identity="made-up", durability=dict(records[0].facts_before.durability), nodes=1)
    records[2] = records[2].model_copy(update={"facts_before": newer})
    cells = campaign_of(tmp_path, "redis", "uncontended", records)
    assert [(cell.setting.server_version if cell.setting else "", len(cell.used)) for cell in cells] == [
        ("7.0.15", 2),
        ("8.0.0", 1),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"source": "compose"},
        {"tags": ("emulator",)},
        {"capabilities": {"engine": "other"}},
        {"facts_before": Facts(version="7.0.15", identity="made-up", durability={"appendonly": "yes"}, nodes=1)},
        {
            "facts_before": Facts(
                version="7.0.15", identity="made-up", durability={"appendonly": "no", "save": ""}, nodes=2
            )
        },
    ],
)
def test_another_setting_is_another_cell(tmp_path: Path, change: dict[str, object]) -> None:
    records = some_measured("redis", "uncontended", 2)
    records[1] = records[1].model_copy(update=change)
    assert len(campaign_of(tmp_path, "redis", "uncontended", records)) == 2


def test_which_member_answered_is_not_a_setting(tmp_path: Path) -> None:
    records = some_measured("zookeeper", "uncontended", 2)
    for number, role in enumerate(("leader", "follower")):
        facts = records[number].facts_before
        facts = facts.model_copy(update={"durability": {**facts.durability, "role": role}})
        records[number] = records[number].model_copy(update={"facts_before": facts})
    assert len(campaign_of(tmp_path, "zookeeper", "uncontended", records)) == 1


_settings = st.builds(
    Setting,
    server_version=st.sampled_from(["1", "2"]),
    source=st.sampled_from(["native", "url"]),
    nodes=st.just(1),
    durability=st.just(()),
    tags=st.just(()),
    engine=st.just(""),
)
_rows = st.builds(
    RunRow,
    campaign_id=st.just("made-up"),
    run_id=st.uuids().map(str),
    system=st.sampled_from(["redis", "etcd", "unheard-of"]),
    workload=st.builds(
        Workload, name=st.sampled_from(["uncontended", "contended"]), clients=st.integers(1, 2), keys=st.just(0)
    ),
    repetition=st.integers(1, 3),
    state=st.just(RunState.CHECKED),
    void_cause=st.sampled_from([None, "loop_lag"]),
    void_reason=st.none(),
    passed_checks=st.just(()),
    failed_checks=st.just(()),
    setting=st.one_of(st.none(), _settings),
)


@given(st.lists(_rows, max_size=12, unique_by=lambda row: row.run_id))
def test_no_run_is_lost_and_no_unlike_runs_share_a_cell(rows: list[RunRow]) -> None:
    cells = cells_of(rows)
    assert sorted(run.run_id for cell in cells for run in cell.runs) == sorted(row.run_id for row in rows)
    for cell in cells:
        assert len({(run.system, run.workload.digest) for run in cell.runs}) == 1
        assert {run.setting for run in cell.runs} <= {cell.setting, None}


def test_a_percentile_is_withheld_when_one_run_cannot_carry_it(tmp_path: Path) -> None:
    records = some_measured("etcd", "uncontended", 3, operations=400)
    records[1] = some_measured("etcd", "uncontended", 3, operations=367)[1]
    (cell,) = campaign_of(tmp_path, "etcd", "uncontended", records)
    assert cell.value("acquire_us_p99") == Absent(TOO_SMALL)
    assert isinstance(cell.value("acquire_us_p50"), Estimate)
    assert Note(SMALL_SAMPLE, "p99 needs 368 in every run; the smallest has 367") in cell.notes()


def test_a_void_run_is_kept_left_out_and_told(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("uncontended",), 2)
    folder = campaigns.start(tmp_path, plans)
    for number, plan in enumerate(plans):
        record = campaigns.measured(plan, campaigns.SHAPES["redis"])
        campaigns.add_run(folder, plan, record, campaigns.check(passed=number != 0, void=True))
    (cell,) = cells_of(run_rows(folder))
    assert [run.run_id for run in cell.used] == [plans[1].run_id]
    assert len(cell.runs) == 2
    assert any(str(note) == f"{FAILED}: {CHECKS['loop_lag'][1]} (1 of 2 runs)" for note in cell.notes())
    assert cell.evidence == (plans[1].run_id,)


def test_a_cell_of_void_runs_says_why_instead_of_a_number(tmp_path: Path) -> None:
    (cell,) = campaign_of(tmp_path, "redis", "uncontended", [Failed(phase="servers", reason="port 1 is taken"), None])
    assert cell.value("acquire_us_p50") == Absent("void: failed (servers), interrupted")
    assert cell.void_reason is not None
    assert "port 1 is taken" in cell.void_reason
    assert any("port 1 is taken" in note.cause for note in cell.notes())


def test_a_run_without_a_measurement_joins_the_cell_that_has_one(tmp_path: Path) -> None:
    records: list[Measured | Failed | None] = [*some_measured("redis", "uncontended", 1), None]
    (cell,) = campaign_of(tmp_path, "redis", "uncontended", records)
    assert (len(cell.runs), len(cell.used)) == (2, 1)


def test_a_run_whose_checks_are_missing_does_not_count(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("uncontended",), 1)
    folder = campaigns.start(tmp_path, plans)
    folder.start_run(plans[0]).write(campaigns.measured(plans[0], campaigns.SHAPES["redis"]))
    (row,) = run_rows(folder)
    assert row.void_cause == "not checked"


def test_acquires_that_failed_are_told_beside_the_percentiles(tmp_path: Path) -> None:
    (cell,) = campaign_of(tmp_path, "redlock", "contended", some_measured("redlock", "contended", 2))
    assert any(note == Note(OUTCOMES, "6 of 2406: timeout 6") for note in cell.notes())


def test_a_rate_of_a_saturated_generator_is_a_lower_bound(tmp_path: Path) -> None:
    plans = campaigns.plans(("redis",), ("saturation",), 1)
    folder = campaigns.start(tmp_path, plans)
    record = campaigns.measured(plans[0], campaigns.SHAPES["redis"])
    campaigns.add_run(folder, plans[0], record, campaigns.check(GENERATOR_CHECK, passed=False))
    (cell,) = cells_of(run_rows(folder))
    assert cell.bounds == ("generator",)


def test_amplification_needs_both_sides(synthetic: Path) -> None:
    cells = cells_of(run_rows(campaigns.CampaignFolder(synthetic)))
    (contended,), (uncontended,) = (cells_named(cells, "redis", name) for name in ("contended", "uncontended"))
    value = amplification(contended, uncontended)
    assert isinstance(value, Estimate)
    p99 = [cell.value("acquire_us_p99") for cell in (contended, uncontended)]
    assert isinstance(p99[0], Estimate)
    assert isinstance(p99[1], Estimate)
    assert value.value == pytest.approx(p99[0].value / p99[1].value)
    (short,) = cells_named(cells, "etcd", "uncontended")
    assert amplification(contended, short) == Absent("n/a (n too small without contention)")


def test_the_frames_have_a_row_for_everything(synthetic: Path) -> None:
    rows = run_rows(campaigns.CampaignFolder(synthetic))
    runs, cells = run_frame(rows), cell_frame(cells_of(rows))
    assert len(runs) == len(rows)
    assert len(cells) == runs.groupby(["system", "workload"]).ngroups
    assert set(METRICS) - {"contention_amplification", *OF_JOBS, *OF_STRANGERS} <= set(cells.columns)
    redis = cells[(cells.system == "redis") & (cells.workload == "saturation")].iloc[0]
    assert redis.bounds == "generator"
    assert redis.throughput_pairs_per_s_low <= redis.throughput_pairs_per_s <= redis.throughput_pairs_per_s_high
    failed = cells[(cells.system == "dynamodb") & (cells.workload == "saturation")].iloc[0]
    assert pd.isna(failed.throughput_pairs_per_s)
    assert "closed the connection" in failed.void_reason


def test_a_damaged_histogram_is_told_with_its_run(tmp_path: Path) -> None:
    record = some_measured("redis", "uncontended", 1)[0]
    broken = record.model_copy(update={"histograms": {**record.histograms, "acquire/acquired": "HISTFAAA"}})
    with pytest.raises(StoreError, match=r"redis-uncontended-01: acquire/acquired is damaged"):
        campaign_of(tmp_path, "redis", "uncontended", [broken])


def test_every_metric_knows_its_unit_and_direction() -> None:
    for name, one in METRICS.items():
        assert name == one.name
        assert one.unit
        assert one.description
    assert metric("acquire_us_p99").direction is Direction.LOWER
    assert metric("throughput_pairs_per_s").direction is Direction.HIGHER
    assert metric("throughput_pairs_per_s").less_than_claimed == "less than claimed"
    assert metric("acquire_us_p50").less_than_claimed == "faster than claimed"
    with pytest.raises(KeyError, match="there are"):
        metric("speed")
