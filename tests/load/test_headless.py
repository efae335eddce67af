"""Whole runs, each with Locust in a process of its own: what they record, and what their checks find."""

from pathlib import Path

import pandas as pd
import pytest

from bench.records.histogram import LatencyHistogram
from bench.records.schema import EVENT_COLUMNS, Workload
from bench.systems.base import Outcome
from tests.load.runs import Ran, run


def failed(ran: Ran) -> set[str]:
    return {name for name, check in ran.checks.items() if not check.passed}


def total(ran: Ran, name: str) -> int:
    return LatencyHistogram.decode(ran.measured.histograms[name]).total


def test_a_run_on_null_records_the_same_operations_everywhere(tmp_path: Path) -> None:
    ran = run(tmp_path, "null", clients=2)
    events = pd.read_parquet(ran.folder.events_path)
    operations = ran.measured.counts["acquire/acquired"]
    assert operations > 100
    assert tuple(events.columns) == EVENT_COLUMNS
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


@pytest.mark.parametrize(
    ("fault", "more", "check"),
    [
        ("double-grant", {"every": "3"}, "mutual_exclusion"),
        ("token-falls", {"every": "7"}, "token_order"),
        ("token-repeats", {"every": "7"}, "token_order"),
        ("serial-client,latency", {"latency": "constant:2000"}, "overlap"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, fault: str, more: dict[str, str], check: str) -> None:
    ran = run(
        tmp_path,
        "faulty",
        {"fault": fault, **more},
        name="contended",
        clients=4,
        keys=1,
        hold_ms=1.0,
        wait="poll-5ms",
        timeout_ms=300,
    )
    assert check in failed(ran), ran.checks[check].observed
    other = {"mutual_exclusion", "token_order", "overlap"} - {check}
    if fault != "double-grant":  # a forged grant carries no true token either
        assert not failed(ran) & other


def test_faulty_without_faults_is_not_accused(tmp_path: Path) -> None:
    ran = run(tmp_path, "faulty", name="contended", clients=4, keys=1, hold_ms=1.0, wait="poll-5ms")
    assert not failed(ran) & {"mutual_exclusion", "token_order", "overlap", "contention", "errors"}


def test_a_known_delay_is_measured(tmp_path: Path) -> None:
    ran = run(tmp_path, "faulty", {"fault": "latency", "latency": "constant:5000"}, clients=2)
    median_ns = LatencyHistogram.decode(ran.measured.histograms["acquire/acquired"]).quantile_ns(0.5)
    assert median_ns is not None
    assert 5_000_000 <= median_ns < 50_000_000


@pytest.mark.parametrize("processes", [2])
def test_two_processes_add_up(tmp_path: Path, processes: int) -> None:
    ran = run(tmp_path, "null", clients=4, processes=processes)
    events = pd.read_parquet(ran.folder.events_path)
    by_process = events.groupby(events["client"] // 100_000).size()
    assert list(by_process.index) == [0, 1], "each process took part"
    assert by_process.sum() == ran.measured.counts["acquire/acquired"] == ran.measured.locust_requests
    expected = LatencyHistogram()
    for duration_ns in events["acquired_ns"] - events["started_ns"]:
        expected.record(int(duration_ns))
    assert ran.measured.histograms["acquire/acquired"] == expected.encode(), (
        "merged is what all operations together give"
    )
    assert ran.measured.generator_processes == processes
    assert not failed(ran) & {"counts_agree", "locust_agrees", "aborted", "errors"}
    assert events["started_ns"].is_monotonic_increasing


def test_outcomes_have_the_words_of_the_contract() -> None:
    assert {str(outcome) for outcome in Outcome} >= {"acquired", "busy", "timeout", "lost", "unknown", "error"}
    assert Workload(name="contended", clients=1, keys=1).wait == "try"
