"""What cells print of stalls, of unlike windows, of two modes and of a drift: no number that no run stands behind."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.analysis.cells import NOT_RECORDED, Absent, Cell, cell_frame, cells_of
from bench.analysis.curves import curve
from bench.analysis.from_events import FROM_EVENTS
from bench.analysis.intervals import Estimate
from bench.analysis.metrics import METRICS, OF_JOBS, OF_STRANGERS
from bench.analysis.notes import DRIFT, TWO_MODES
from bench.analysis.runs import RunRow, run_rows
from bench.records.histogram import LatencyHistogram
from bench.records.schema import LadderStep
from bench.records.workload import UPDATE
from bench.report import contention_table, curve_table, formats, workloads_table
from bench.report.comparison import build_comparison
from bench.report.model import Table
from tests import campaigns


def cell(folder: Path, workload: str = "contended", runs: int = 6, system: str = "redis") -> Cell:
    plans = campaigns.plans((system,), (workload,), runs)
    made = campaigns.start(folder, plans)
    for plan in plans:
        campaigns.add_run(made, plan, campaigns.measured(plan, campaigns.SHAPES[system]))
    (found,) = cells_of(run_rows(made))
    return found


def with_metrics(cell: Cell, **values: float | list[float] | None) -> Cell:
    """The same metrics in every run, or one value a run."""

    def of(run: RunRow, place: int) -> RunRow:
        own = {name: value[place] if isinstance(value, list) else value for name, value in values.items()}
        return replace(run, metrics={**run.metrics, **own})

    return replace(cell, runs=tuple(of(run, place) for place, run in enumerate(cell.runs)))


@pytest.mark.parametrize(
    ("stalls", "told"), [(1.0, "n/a (1 stall)"), (2.0, "n/a (2 stalls)"), (3.0, None), (None, None)]
)
def test_a_percentile_on_fewer_than_three_stalls_is_not_printed(
    tmp_path: Path, stalls: float | None, told: str | None
) -> None:
    found = with_metrics(cell(tmp_path, "uncontended"), stalls_p99=stalls).value("acquire_us_p99")
    assert (found.reason if isinstance(found, Absent) else None) == told


def test_a_percentile_of_strangers_rests_on_stalls_of_their_own(tmp_path: Path) -> None:
    found = cell(tmp_path)
    found = replace(found, workload=found.workload.model_copy(update={"strangers": 2}))
    found = with_metrics(found, stranger_acquire_us_p99=900.0, stranger_acquire_us_p50=200.0, stalls_p99=1.0)
    assert isinstance(found.value("stranger_acquire_us_p99"), Estimate)
    found = with_metrics(found, stranger_stalls_p99=2.0, stalls_p99=9.0)
    assert found.value("stranger_acquire_us_p99") == Absent("n/a (2 stalls)")
    pooled = replace(found, workload=found.workload.model_copy(update={"pool": 4}))
    assert isinstance(pooled.value("stranger_acquire_us_p99"), Estimate), "there they wait for each other"
    assert isinstance(found.value("stranger_acquire_us_p50"), Estimate)
    assert isinstance(found.value("acquire_us_p99"), Estimate)


def test_a_percentile_that_is_printed_says_how_many_stalls_carry_it(tmp_path: Path) -> None:
    found = with_metrics(cell(tmp_path, "uncontended"), stalls_p99=[9.0, 4.0, 9.0, 12.0, 9.0, 9.0])
    assert workloads_table._of_the_load(found) == "p99 on 4 stalls or more"


@pytest.mark.parametrize(("runs", "told"), [(2, "n/a (2 stalls)"), (3, None), (6, None)])
def test_where_clients_wait_for_each_other_the_stalls_of_all_runs_count(
    tmp_path: Path, runs: int, told: str | None
) -> None:
    """Their waits overlap by nature: each run has one, and each run is independent of the others."""
    found = with_metrics(cell(tmp_path, runs=runs), stalls_p99=1.0)
    value = found.value("acquire_us_p99")
    assert (value.reason if isinstance(value, Absent) else None) == told
    assert workloads_table._of_the_load(found) == ("—" if told else f"p99 on {runs} stalls in all")


def test_one_run_with_one_stall_is_enough_to_print_none(tmp_path: Path) -> None:
    found = with_metrics(cell(tmp_path, "uncontended"), stalls_p99=[9.0, 9.0, 9.0, 9.0, 9.0, 1.0])
    assert found.value("acquire_us_p99") == Absent("n/a (1 stall)")
    assert isinstance(found.value("acquire_us_p50"), Estimate)


def test_a_share_of_nothing_is_a_number(tmp_path: Path) -> None:
    """One client got every grant: no logarithm, and no error either."""
    found = with_metrics(cell(tmp_path), changed_hands_share=0.0, longest_streak=[9.0, 7.0, 8.0, 9.0, 9.0, 96.0])
    share, streak = found.value("changed_hands_share"), found.value("longest_streak")
    assert isinstance(share, Estimate)
    assert isinstance(streak, Estimate)
    assert (share.value, streak.high, streak.has_confidence) == (0.0, 96.0, False)


def test_what_an_old_record_lacks_is_told_as_not_recorded(tmp_path: Path) -> None:
    found = with_metrics(cell(tmp_path), **dict.fromkeys(FROM_EVENTS))
    assert found.value("changed_hands_share") == found.value("handed_wait_us_p50") == Absent(NOT_RECORDED)
    assert isinstance(found.value("acquire_us_mean"), Estimate), "which every record has"


@pytest.mark.parametrize("value", [0.0, -5.0])
@pytest.mark.parametrize("metric", [name for name in METRICS if name != "contention_amplification"])
def test_a_value_without_a_logarithm_is_shown_with_its_range(tmp_path: Path, metric: str, value: float) -> None:
    """A queue wait may be 0, and a hand-off below it: they stand in the table of cells as all others do."""
    found = with_metrics(cell(tmp_path), **{metric: [value, 4.0, 5.0, 6.0, 7.0, 8.0]})
    if metric in OF_JOBS:
        found = replace(found, workload=found.workload.model_copy(update={"name": UPDATE}))
    if metric in OF_STRANGERS:
        found = replace(found, workload=found.workload.model_copy(update={"strangers": 2}))
    estimate = found.value(metric)
    assert isinstance(estimate, Estimate)
    assert (estimate.low, estimate.has_confidence) == (value, False)
    assert found.spread(metric) is None
    assert cell_frame([found])[f"{metric}_low"].tolist() == [value]


def test_latencies_of_unlike_numbers_of_clients_are_not_pooled(tmp_path: Path) -> None:
    alike = cell(tmp_path, "saturation")
    unlike = replace(
        alike,
        runs=tuple(replace(run, window_clients=clients) for run, clients in zip(alike.runs, (2, 8) * 3, strict=True)),
    )
    assert isinstance(alike.value("acquire_us_p50"), Estimate)
    assert unlike.value("acquire_us_p50") == Absent("n/a (windows with 2 to 8 clients)")
    assert isinstance(unlike.value("throughput_pairs_per_s"), Estimate), "a ceiling is one, with however many clients"


def test_two_modes_are_both_shown_and_told(tmp_path: Path) -> None:
    """12.5 and 24.2 µs: the mean, 19.5, is a value that no run had."""
    found = with_metrics(cell(tmp_path, "uncontended"), acquire_us_p50=[12.4, 24.1, 24.3, 12.6, 24.2, 24.2])
    value = found.value("acquire_us_p50")
    assert formats.ms_value(value) == "0.0125 or 0.0242 (two modes)"
    notes = [note for note in found.notes() if note.cause == TWO_MODES]
    assert [note.detail for note in notes] == ["p50 in µs: two modes, 12.5 and 24.2"]


def test_a_drift_in_the_order_of_the_runs_is_told(tmp_path: Path) -> None:
    """A server that was still warming up: run 1 had 1 531 pairs a second, run 6 had 3 351."""
    warming = [1_531.0, 1_702.0, 1_650.0, 2_400.0, 2_900.0, 3_351.0]
    found = with_metrics(cell(tmp_path, "saturation"), throughput_pairs_per_s=warming)
    (note,) = (note for note in found.notes() if note.cause == DRIFT)
    assert note.detail.startswith("pairs/s by +")
    value = found.value("throughput_pairs_per_s")
    assert isinstance(value, Estimate)
    assert (value.low, value.high, value.has_confidence) == (1_531.0, 3_351.0, False), "and there is no interval"
    steady = with_metrics(found, throughput_pairs_per_s=[1_531.0, 1_502.0, 1_550.0, 1_500.0, 1_520.0, 1_510.0])
    assert not any(note.cause == DRIFT for note in steady.notes())


def step(clients: int, pairs: int, took_us: int) -> LadderStep:
    return LadderStep(
        clients=clients, window_s=2.0, pairs=pairs, acquire=LatencyHistogram({took_us * 1_000: pairs}).encode()
    )


def test_a_curve_has_a_point_for_each_number_of_clients(tmp_path: Path) -> None:
    found = cell(tmp_path, "saturation")
    ladders = [(step(1, 1_000 + run, 100), step(8, 100, 400)) for run in range(6)]
    climbed = replace(
        found, runs=tuple(replace(run, curve=ladder) for run, ladder in zip(found.runs, ladders, strict=True))
    )
    one, eight = curve(climbed)
    assert (one.clients, eight.clients) == (1, 8)
    assert one.pairs_per_s.value == pytest.approx(501.2, rel=0.01)
    p50 = one.acquire_us["p50"]
    assert isinstance(p50, Estimate)
    assert p50.value == pytest.approx(100.0, rel=0.01)
    assert isinstance(eight.acquire_us["p99"], Absent), "100 operations carry no p99"
    assert curve(found) == ()


def test_the_tables_have_a_line_for_each_shared_cell_and_each_step(tmp_path: Path) -> None:
    from bench.analysis.evidence import Evidence

    evidence = Evidence.load(campaigns.whole_campaign(tmp_path, 2))
    rows = tuple(
        replace(
            row,
            curve=(step(1, 500, 100), step(2, 900, 110)) if row.workload.name == "saturation" else (),
            metrics={
                **row.metrics,
                "changed_hands_share": 0.07,
                "longest_streak": 96.0,
                "hand_off_us_p50": 412.0,
                "wait_by_fair_p99": 3.2,
            },
        )
        for row in evidence.rows
    )
    comparison = build_comparison(replace(evidence, rows=rows))
    table = next(block for block in contention_table.blocks(comparison) if isinstance(block, Table))
    who = {line.row.system: [column.text(line) for column in table.columns] for line in table.rows}
    assert set(who) == set(evidence.systems)
    assert [text.words for text in who["redis"][3:5]] == ["7\u00a0%", "96"]
    glance = next(one for one in comparison.properties if one.key == "contention")
    assert glance.pairs["redis"].measured.words.replace("\u00a0", " ") == "0.41; 3.2 × a fair queue, held 1 ms"
    *_, table = curve_table.blocks(comparison)
    assert isinstance(table, Table)
    system, clients = table.columns[:2]
    assert [clients.text(line).words for line in table.rows if system.text(line).words == "Redis"] == ["1", "2"]
