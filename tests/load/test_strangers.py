"""Strangers beside a hot key, on connections of their own and through a pool: whole runs, and what their rows say."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import redis

from bench.records.histogram import LatencyHistogram
from bench.records.schema import STRANGERS
from tests.load.runs import Ran, carry_out, own_redis, plan_of, run
from tests.load.test_endings import _OF_THE_MACHINE, attached

CROWD: dict[str, Any] = {"name": "contended", "keys": 1, "clients": 16, "strangers": 8, "hold_ms": 5.0}


def median_ms(ran: Ran, whose: str = "") -> float:
    text = ran.measured.histograms[f"{whose}acquire/acquired"]
    return (LatencyHistogram.decode(text).quantile_ns(0.5) or 0.0) / 1e6


def rows(ran: Ran) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of the clients that meet, and of strangers."""
    events = pd.read_parquet(ran.folder.events_path)
    return events[events["key"] < 1], events[events["key"] >= 1]


@pytest.mark.servers
@pytest.mark.parametrize("pool", [0, 2])
def test_a_run_on_redis_has_both_populations(tmp_path: Path, pool: int) -> None:
    with own_redis(tmp_path) as (endpoint, _):
        crowd = {**CROWD, "clients": 12, "think_ms": 5.0}  # who pauses lets others have the key
        asked = plan_of("redis", **crowd, pool=pool, wait="poll-5ms-j20", measure_s=2.0)
        ran = carry_out(asked, tmp_path, attached(endpoint))
        opened = redis.Redis(*endpoint.addresses[0]).info("stats")["total_connections_received"]
    broken = {name: check.observed for name, check in ran.checks.items() if not check.passed}
    assert not broken.keys() - _OF_THE_MACHINE, broken  # other tests are at work beside
    meeting, beside = rows(ran)
    assert (meeting["client"].nunique(), beside["client"].nunique()) == (4, 8)
    assert beside.groupby("key")["client"].nunique().to_dict() == dict.fromkeys(range(1, 9), 1), "a key of their own"
    held_ms = (meeting["released_ns"] - meeting["acquired_ns"])[meeting["outcome"] == "acquired"] / 1e6
    assert held_ms.min() >= 5.0
    assert (beside["released_ns"] - beside["acquired_ns"]).median() < 1e6, "strangers hold nothing"
    counts = ran.measured.counts
    assert counts["acquire/acquired"] == len(meeting)
    assert counts[f"{STRANGERS}acquire/acquired"] == counts[f"{STRANGERS}release/released"] == len(beside) > 50
    assert ran.measured.locust_requests == len(meeting) + len(beside)
    told = ran.from_events
    assert told["clients_without_grant"] == 0.0
    if pool:
        assert opened < 18, "they share connections"
        assert median_ms(ran, STRANGERS) > 5.0, "and wait for those who hold the lock, or wait for it"
    else:
        assert opened >= 18
        assert median_ms(ran, STRANGERS) < 0.5 * median_ms(ran), "they wait for nobody"


def test_strangers_are_dealt_out_to_the_load_processes(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", **{**CROWD, "clients": 9, "strangers": 5}, wait="block", processes=2, measure_s=1.0)
    meeting, beside = rows(ran)
    assert sorted(beside["key"].unique()) == [1, 2, 3, 4, 5]
    assert beside.groupby("key")["client"].nunique().max() == 1
    for part, least in ((meeting, 1), (beside, 2)):
        assert part.groupby(part["client"] // 100_000)["client"].nunique().min() >= least
    assert ran.checks["counts_agree"].passed
    assert ran.checks["locust_agrees"].passed


def test_strangers_pause_at_random_around_ten_milliseconds_and_as_the_seed_says(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", **{**CROWD, "clients": 9}, wait="block", measure_s=1.5)
    _, beside = rows(ran)
    ordered = beside.sort_values("started_ns").groupby("client")
    pauses_ms = (ordered["started_ns"].shift(-1) - beside["freed_ns"]).dropna() / 1e6
    assert 9.0 < pauses_ms.mean() < 15.0, "others may be at work beside"
    assert pauses_ms.std() > 0.6 * pauses_ms.mean(), "exponential"


def test_a_pool_of_one_lets_strangers_wait_for_every_hold_in_turn(tmp_path: Path) -> None:
    ran = run(tmp_path, "memory", **{**CROWD, "clients": 6, "strangers": 2, "pool": 1}, wait="block", measure_s=1.0)
    assert median_ms(ran, STRANGERS) > 5.0
    found = ran.from_events
    assert found["jain_index"] > 0.9, "and in the order of asking"
    assert ran.measured.aborted == 0
    for name in ("counts_agree", "locust_agrees", "mutual_exclusion", "littles_law", "aborted"):
        assert ran.checks[name].passed, ran.checks[name].observed


def test_who_waits_too_long_for_a_connection_is_a_timeout(tmp_path: Path) -> None:
    asked = {**CROWD, "clients": 4, "strangers": 2, "pool": 1, "hold_ms": 300.0, "timeout_ms": 100}
    ran = run(tmp_path, "memory", **asked, wait="block", measure_s=1.0)
    assert ran.measured.counts[f"{STRANGERS}acquire/timeout"] > 0
    assert ran.checks["counts_agree"].passed
    assert ran.checks["littles_law"].passed
