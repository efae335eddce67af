"""Tables for people's own plots: their columns are promised, and their numbers are those of the records."""

from pathlib import Path

import pandas as pd
import pytest

from bench import frames
from bench.analysis.places import NO_HAZARDS, REFERENCE
from bench.records.store import StoreError
from tests.report import hazard_campaigns

NAMES = ["campaign_id", "run_id", "system", "workload", "clients"]


@pytest.fixture(scope="module")
def runs(synthetic: Path) -> pd.DataFrame:
    return frames.runs(str(synthetic))


def test_runs_have_one_row_each_and_say_which_count(runs: pd.DataFrame) -> None:
    assert runs.run_id.is_unique
    assert {"system", "workload", "acquire_us_p50", "throughput_pairs_per_s", "void_reason"} <= set(runs.columns)
    assert (runs.void_reason == "").any()


def test_a_percentile_is_that_of_its_run(synthetic: Path, runs: pd.DataFrame) -> None:
    found = frames.percentiles(str(synthetic), (0.5, 0.99))
    assert list(found.columns) == [*NAMES, "phase", "outcome", "operations", "quantile", "latency_us"]
    acquired = found[(found.phase == "acquire") & (found.outcome == "acquired") & (found["quantile"] == 0.5)]
    beside = acquired.merge(runs[["campaign_id", "run_id", "acquire_us_p50"]], on=["campaign_id", "run_id"])
    assert len(beside) == len(acquired) > 3
    assert (beside.latency_us - beside.acquire_us_p50).abs().max() < 1e-9


def test_no_percentile_is_there_that_the_sample_does_not_carry(synthetic: Path) -> None:
    found = frames.percentiles(str(synthetic), (0.5, 0.999999))
    assert set(found["quantile"]) == {0.5}


def test_a_histogram_has_every_operation_once(synthetic: Path) -> None:
    counted = frames.histograms(str(synthetic)).groupby("run_id")["count"].sum()
    percentiles = frames.percentiles(str(synthetic), (0.5,))
    acquired = percentiles[(percentiles.phase == "acquire") & (percentiles.outcome == "acquired")]
    assert counted[acquired.run_id].tolist() == acquired.operations.tolist()
    assert list(frames.histograms(str(synthetic), "nosuch").columns) == [*NAMES, "latency_us", "count"]


def test_the_reference_has_its_operations() -> None:
    name = "1/redis-uncontended-01"
    events = frames.events("reference", name)
    assert set(events.campaign_id) == {"reference-1"}
    assert {"client", "key", "started_ns", "acquired_ns", "outcome", "token"} <= set(events.columns)
    took_us = (events.acquired_ns - events.started_ns)[events.outcome == "acquired"] / 1e3
    runs = frames.runs("data/reference/load/1")
    own = runs[runs.run_id == "redis-uncontended-01"].acquire_us_p50.iloc[0]
    assert took_us.median() == pytest.approx(own, rel=0.01)


def test_a_run_without_operations_is_one_clear_message(synthetic: Path) -> None:
    with pytest.raises(StoreError, match="no run nosuch: runs are "):
        frames.events(str(synthetic), "nosuch")


def test_trials_have_their_parameters_and_measures(tmp_path: Path) -> None:
    trials = frames.trials(str(hazard_campaigns.whole(tmp_path).path))
    assert {"run_id", "ttl_ms", "overlap_s", "late_accepted", "lost_updates"} <= set(trials.columns)
    assert any(name.startswith("parameter_") for name in trials.columns)
    assert any(name.startswith("measured_") for name in trials.columns)
    assert trials.overlap_s.max() > 0.0


def test_a_campaign_that_is_not_there_is_one_clear_message() -> None:
    for ask in (frames.runs, frames.cells, frames.percentiles, frames.histograms, frames.events):
        with pytest.raises(StoreError, match="nosuch"):
            ask("nosuch")


def test_without_hazards_there_are_no_trials_and_all_columns() -> None:
    none = frames.trials(NO_HAZARDS)
    assert none.empty
    assert set(none.columns) <= set(frames.trials(REFERENCE).columns)


def test_what_is_promised_is_documented() -> None:
    public = {
        name
        for name in vars(frames)
        if not name.startswith("_") and getattr(vars(frames)[name], "__module__", "") == "bench.frames"
    }
    assert public == {"runs", "cells", "percentiles", "histograms", "events", "trials"}
    page = Path(__file__).parents[2].joinpath("docs/frames.md").read_text(encoding="utf-8")
    assert all(f"frames.{name}(" in page for name in public)
