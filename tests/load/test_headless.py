"""Whole runs, each with Locust in a process of its own: what they record, and what their checks find."""

from collections import defaultdict
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bench.load.keys import zipf_shares
from bench.load.schedule import offsets_ns
from bench.records.histogram import LatencyHistogram
from bench.records.schema import ADDED_COLUMNS, EVENT_COLUMNS, Workload
from bench.systems.base import Outcome
from tests.load.runs import Ran, run
from tests.thorough import case


def failed(ran: Ran) -> set[str]:
    return {name for name, check in ran.checks.items() if not check.passed}


def total(ran: Ran, name: str) -> int:
    return LatencyHistogram.decode(ran.measured.histograms[name]).total


def test_a_run_on_null_records_the_same_operations_everywhere(tmp_path: Path) -> None:
    ran = run(tmp_path, "null", clients=2)
    events = pd.read_parquet(ran.folder.events_path)
    operations = ran.measured.counts["acquire/acquired"]
    assert operations > 100
    assert tuple(events.columns) == (*EVENT_COLUMNS, *ADDED_COLUMNS)
    assert (events["released_ns"] <= events["freed_ns"]).all()
    assert len(events) == operations == ran.measured.locust_requests == total(ran, "response/acquired")
    assert total(ran, "release/released") == operations
    assert set(events["client"]) == {0, 1}
    assert (events["intended_ns"] == events["started_ns"]).all(), "a closed loop has no intention apart from the start"
    assert (events["started_ns"] <= events["acquired_ns"]).all()
    assert (events["acquired_ns"] <= events["released_ns"]).all()
    assert set(events["token"]) == {-1}
    assert set(events["outcome"]) == {"acquired"}
    window_ns = events["started_ns"].max() - events["started_ns"].min()
    assert window_ns <= ran.measured.window_s * 1e9, "only what starts in the window counts"
    assert not failed(ran) & {"counts_agree", "locust_agrees", "aborted", "errors"}
    assert 0 < ran.measured.generator_cpu_s <= 1.5 * ran.measured.window_s
    assert ran.measured.generator_processes == 1
    assert ran.measured.source == "none"
    assert ran.measured.capabilities["wait_strategies"] == "try, poll, watch, block"
    assert ran.measured.capabilities["fencing_source"] == ""
    assert ran.measured.tags == ("baseline",)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [], "scratch files stayed"


def test_contention_on_memory_keeps_the_locks_promises(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", name="contended", clients=6, keys=1, hold_ms=1.0, wait="block")
    events = pd.read_parquet(ran.folder.events_path)
    assert not failed(ran) & {"mutual_exclusion", "token_order", "contention", "counts_agree", "locust_agrees"}
    assert set(events["key"]) == {0}
    assert len(set(events["client"])) == 6
    assert (events["released_ns"] - events["acquired_ns"] >= 1_000_000).all(), "a hold is at least as long as asked"
    assert events.sort_values("acquired_ns")["token"].is_monotonic_increasing


def test_shared_keys_are_drawn_by_the_seed(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", name="contended", clients=3, keys=4, wait="poll-5ms")
    assert set(pd.read_parquet(ran.folder.events_path)["key"]) == {0, 1, 2, 3}


def test_a_busy_lock_is_an_answer_and_no_failure(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", name="contended", clients=4, keys=1, hold_ms=5.0, wait="try")
    assert ran.measured.counts["acquire/busy"] > ran.measured.counts["acquire/acquired"] > 0
    assert ran.checks["errors"].passed
    events = pd.read_parquet(ran.folder.events_path)
    busy = events[events["outcome"] == "busy"]
    assert (busy["released_ns"] == 0).all()
    assert set(busy["released"]) == {""}
    assert sum(count for name, count in ran.measured.counts.items() if name.startswith("acquire/")) == len(events)


def test_a_timeout_is_waited_for_after_the_window(tmp_path: Path) -> None:
    """One client holds for longer than the window; the other's wait began inside it and is seen to its end."""
    ran = run(
        tmp_path,
        "memory",
        name="contended",
        clients=2,
        keys=1,
        hold_ms=1500.0,
        wait="block",
        timeout_ms=700,
        warmup_s=0,
    )
    assert ran.measured.counts["acquire/timeout"] >= 1
    assert ran.measured.aborted == 0
    timeouts = LatencyHistogram.decode(ran.measured.histograms["acquire/timeout"])
    assert (timeouts.quantile_ns(0.0) or 0) >= 0.999 * 700e6


@pytest.mark.measures
def test_a_known_delay_is_measured(tmp_path: Path) -> None:
    ran = run(tmp_path, "faulty", {"fault": "latency", "latency": "constant:5000"}, clients=2)
    median_ns = LatencyHistogram.decode(ran.measured.histograms["acquire/acquired"]).quantile_ns(0.5)
    assert median_ns is not None
    assert 5_000_000 <= median_ns < 50_000_000


@pytest.mark.parametrize(
    ("system", "workload"),
    [
        case("null", {"clients": 4}, rare=True),
        case("memory", {"name": "contended", "clients": 6, "keys": 1, "hold_ms": 2.0, "wait": "try"}, rare=True),
        ("memory", {"name": "rate", "clients": 5, "rate_per_s": 400.0}),
        ("memory", {"name": "hot-cold", "clients": 4, "keys": 9, "zipf_exponent": 1.1, "wait": "poll-5ms"}),
    ],
)
def test_two_processes_add_up(tmp_path: Path, system: str, workload: dict[str, Any]) -> None:
    """Every merged histogram is, bucket by bucket, that of all operations of both processes together."""
    ran = run(tmp_path, system, processes=2, **workload)
    events = pd.read_parquet(ran.folder.events_path)
    by_process = events.groupby(events["client"] // 100_000).size()
    assert list(by_process.index) == [0, 1], "each process took part"
    expected = histograms_of(events)
    merged = {name: text for name, text in ran.measured.histograms.items() if name in expected}
    assert merged == {name: histogram.encode() for name, histogram in expected.items()}
    assert {name: ran.measured.counts[name] for name in expected} == {name: one.total for name, one in expected.items()}
    others = {name for name in ran.measured.histograms if name not in expected}
    assert {name.partition("/")[0] for name in others} <= {"release", "loop_lag", "think", "wake"}
    assert by_process.sum() == ran.measured.locust_requests
    assert ran.measured.generator_processes == 2
    assert not failed(ran) & {"counts_agree", "locust_agrees", "aborted", "errors", "arrivals", "littles_law"}
    assert events["started_ns"].is_monotonic_increasing


def histograms_of(events: pd.DataFrame) -> dict[str, LatencyHistogram]:
    """All phases that events.parquet tells, counted one operation at a time."""
    found: dict[str, LatencyHistogram] = defaultdict(LatencyHistogram)
    for one in events.itertuples():
        found[f"acquire/{one.outcome}"].record(one.acquired_ns - one.started_ns)
        found[f"response/{one.outcome}"].record(one.acquired_ns - one.intended_ns)
        if one.released:
            found[f"hold/{one.released}"].record(one.released_ns - one.acquired_ns)
    return dict(found)


def schedule_of(ran: Ran) -> list[int]:
    """The arrivals within the window, in ns from the start of the schedule."""
    workload = ran.plan.workload
    opens_ns = round(workload.warmup_s * 1e9)
    closes_ns = opens_ns + round(workload.measure_s * 1e9)
    offsets = offsets_ns(workload.arrivals, workload.rate_per_s, ran.plan.seed)
    return [offset for offset in takewhile(lambda offset: offset < closes_ns, offsets) if offset >= opens_ns]


@pytest.mark.measures
@pytest.mark.parametrize(("processes", "arrivals"), [(1, "poisson"), (2, "poisson"), (1, "uniform")])
def test_an_open_loop_sends_the_schedule_and_nothing_else(tmp_path: Path, processes: int, arrivals: str) -> None:
    ran = run(tmp_path, "memory", name="rate", clients=8, rate_per_s=300.0, arrivals=arrivals, processes=processes)
    events = pd.read_parquet(ran.folder.events_path)
    schedule = schedule_of(ran)
    assert ran.measured.arrivals == len(schedule) == len(events) > 50
    assert ran.measured.unsent == 0
    assert (events["intended_ns"] <= events["started_ns"]).all(), "no operation starts before it is due"
    # Each process counts from the instant at which it heard of the window, so offsets agree within each of them.
    left = set(schedule)
    for _, part in events.groupby(events["client"] // 100_000):
        intended = np.sort(part["intended_ns"].to_numpy())
        starts = [offset for offset in left if set((intended - intended[0] + offset).tolist()) <= left]
        assert len(starts) == 1, "what one process sends is a part of the schedule"
        left -= set((intended - intended[0] + starts[0]).tolist())
    assert not left, "and together they send all of it"
    assert not failed(ran) & {"counts_agree", "locust_agrees", "arrivals", "unsent", "littles_law", "aborted"}


@pytest.mark.measures
@pytest.mark.parametrize("processes", [1, 2])
def test_arrivals_that_nobody_could_send_are_counted(tmp_path: Path, processes: int) -> None:
    """Two clients of 20 ms each take 100 operations a second, and 500 are due."""
    slow = {"fault": "latency", "latency": "constant:20000"}
    ran = run(tmp_path, "faulty", slow, name="rate", clients=2, rate_per_s=500.0, processes=processes)
    events = pd.read_parquet(ran.folder.events_path)
    assert ran.measured.unsent > ran.measured.arrivals / 2
    assert ran.measured.arrivals == len(schedule_of(ran)) == len(events) + ran.measured.unsent
    assert ran.checks["arrivals"].passed
    assert not ran.checks["unsent"].passed
    assert ran.checks["unsent"].severity == "void"
    waited_ns = events["started_ns"] - events["intended_ns"]
    assert waited_ns.max() > 100e6, "the backlog is in the response"


@pytest.mark.measures
def test_the_clients_of_a_saturation_run_climb(tmp_path: Path) -> None:
    """Each acquire takes 10 ms, so throughput goes with the number of clients up to the last one."""
    slow = {"fault": "latency", "latency": "constant:10000"}
    ran = run(tmp_path, "faulty", slow, name="saturation", clients=6, step_s=0.4, measure_s=1.0)
    ladder = ran.measured.ladder
    assert [step.clients for step in ladder] == [1, 2, 4, 6]
    assert all(LatencyHistogram.decode(step.acquire).total == step.pairs for step in ladder)
    assert ran.measured.window_clients == 6
    for step in ladder:
        assert 30 * step.clients <= step.pairs_per_s <= 100 * step.clients
    assert ran.measured.knee_clients == 6
    assert not ran.checks["knee"].passed
    assert "still rising" in ran.checks["knee"].message
    assert set(pd.read_parquet(ran.folder.events_path)["client"]) == set(range(6)), "all take part in the window"


@pytest.mark.parametrize("processes", [1, 2])
def test_an_operation_of_the_climb_is_recorded_and_told_to_locust_like_one_of_the_window(
    tmp_path: Path, processes: int
) -> None:
    ran = run(tmp_path, "null", name="saturation", clients=4, step_s=0.3, measure_s=0.5, processes=processes)
    record = ran.measured
    in_steps = sum(step.pairs for step in record.ladder)
    assert record.ladder_recorded
    assert record.locust_requests == record.counts["acquire/acquired"] + record.climb_requests
    assert record.climb_requests > in_steps > 0.6 * record.climb_requests, "a fifth of each step belongs to nobody"
    assert ran.checks["locust_agrees"].passed


@pytest.mark.measures
def test_two_processes_climb_together(tmp_path: Path) -> None:
    slow = {"fault": "latency", "latency": "constant:10000"}
    ran = run(tmp_path, "faulty", slow, name="saturation", clients=5, step_s=0.4, measure_s=1.0, processes=2)
    assert [step.clients for step in ran.measured.ladder] == [1, 2, 4, 5]
    for step in ran.measured.ladder:
        assert 30 * step.clients <= step.pairs_per_s <= 100 * step.clients
    assert not failed(ran) & {"counts_agree", "locust_agrees", "littles_law"}


@pytest.mark.measures
@pytest.mark.parametrize("processes", [1, 2])
def test_clients_that_bring_nothing_stand_aside_in_the_window(tmp_path: Path, processes: int) -> None:
    """One call at a time in each process, 5 ms each: with a second client a process is as fast, only slower to answer.

    The time passes asleep, so that whatever else the machine does is in no step's way.
    """
    serial = {"fault": "latency,serial-client", "latency": "constant:5000"}
    ran = run(tmp_path, "faulty", serial, name="saturation", clients=8, step_s=0.5, measure_s=1.0, processes=processes)
    knee = ran.measured.knee_clients
    assert knee is not None
    assert knee < 8, "a step that the machine disturbed may hide the knee from one step, not from all"
    assert ran.measured.window_clients is not None
    at_work = pd.read_parquet(ran.folder.events_path)["client"].nunique()
    assert at_work == ran.measured.window_clients
    assert ran.measured.counts["acquire/acquired"] > 100
    assert not failed(ran) & {"counts_agree", "locust_agrees", "littles_law", "aborted"}


@pytest.mark.measures
def test_hot_keys_are_asked_for_more_often(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", name="hot-cold", clients=3, keys=50, zipf_exponent=1.0, wait="poll-5ms")
    by_key = pd.read_parquet(ran.folder.events_path)["key"].value_counts(normalize=True)
    shares = zipf_shares(50, 1.0)
    assert by_key[0] == pytest.approx(shares[0], rel=0.25)
    assert by_key.loc[:9].sum() == pytest.approx(shares[9], rel=0.15)
    assert set(by_key.index) <= set(range(50))


def test_outcomes_have_the_words_of_the_contract() -> None:
    assert {str(outcome) for outcome in Outcome} >= {"acquired", "busy", "timeout", "lost", "unknown", "error"}
    assert Workload(name="contended", clients=1, keys=1).wait == "try"
