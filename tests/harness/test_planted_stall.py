"""A service that stands still for a second: an open loop shows it in its p99, a closed loop does not.

Both loops meet the same stall. The closed loop asks nothing while it waits, so the second is a handful of slow
operations among a thousand; the open loop charges it to every operation that was due in that second.
"""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.records.histogram import LatencyHistogram
from tests.load.runs import Ran, run

pytestmark = pytest.mark.measures

STALL_MS = 1000
SLOW_NS = 0.5 * STALL_MS * 1e6
WINDOW_S = 3.0
# Both acquire about 200 times a second: the closed loop since each acquire of its one client takes 5 ms.
OPEN: dict[str, Any] = {"name": "rate", "clients": 8, "rate_per_s": 200.0}
CLOSED: dict[str, Any] = {"name": "uncontended", "clients": 1}
PACE = {"latency": "constant:4000"}
# Counted over all clients, the probe before the warm-up included: in the first second of the window.
STALL_AT = {"stall_at": "250", "stall_ms": str(STALL_MS)}


def stalled(folder: Path, loop: dict[str, Any], fault: str = "latency,stall") -> Ran:
    """A run with one stall in its window (or, with another fault, without)."""
    return run(folder, "faulty", {"fault": fault, **PACE, **STALL_AT}, measure_s=WINDOW_S, **loop)


@pytest.fixture(scope="module")
def stalled_open(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The open loop that met the stall: looked at from the intended instants, and from the starts."""
    return stalled(tmp_path_factory.mktemp("open"), OPEN)


def p99_ns(ran: Ran, phase: str) -> float:
    return LatencyHistogram.decode(ran.measured.histograms[f"{phase}/acquired"]).quantile_ns(0.99) or 0.0


def slowest_ns(ran: Ran, phase: str) -> float:
    return LatencyHistogram.decode(ran.measured.histograms[f"{phase}/acquired"]).quantile_ns(1.0) or 0.0


def test_the_stall_is_in_the_p99_of_the_open_loop(stalled_open: Ran) -> None:
    ran = stalled_open
    assert slowest_ns(ran, "response") >= 0.9 * STALL_MS * 1e6, "the stall was not in the window"
    assert p99_ns(ran, "response") > SLOW_NS
    assert ran.checks["arrivals"].passed
    events = pd.read_parquet(ran.folder.events_path)
    late = events["acquired_ns"] - events["intended_ns"] > SLOW_NS
    assert 60 <= late.sum() <= 200, "about those that were due in the first half of the stall"


def test_the_stall_is_not_in_the_p99_of_the_closed_loop(tmp_path: Path) -> None:
    ran = stalled(tmp_path, CLOSED)
    assert slowest_ns(ran, "acquire") >= 0.9 * STALL_MS * 1e6, "the stall was not in the window"
    assert p99_ns(ran, "acquire") < SLOW_NS
    assert p99_ns(ran, "response") == p99_ns(ran, "acquire"), "a closed loop has no intention to count from"


def test_the_open_loop_without_a_stall_is_not_slow(tmp_path: Path) -> None:
    ran = stalled(tmp_path, OPEN, fault="latency")
    assert p99_ns(ran, "response") < SLOW_NS


def test_counted_from_the_start_the_open_loop_would_hide_it_too(stalled_open: Ran) -> None:
    """The planted fault of the recorder: response times from the start instead of from the intended instant."""
    events = pd.read_parquet(stalled_open.folder.events_path)
    from_start = (events["acquired_ns"] - events["started_ns"]).quantile(0.99)
    from_intended = (events["acquired_ns"] - events["intended_ns"]).quantile(0.99)
    assert from_intended > SLOW_NS
    slow = (events["acquired_ns"] - events["started_ns"] > SLOW_NS).sum()
    assert slow <= OPEN["clients"], "each client met the stall once"
    assert from_start < from_intended


def test_the_two_loops_ask_about_as_often() -> None:
    assert OPEN["rate_per_s"] == pytest.approx(1 / 0.005)
