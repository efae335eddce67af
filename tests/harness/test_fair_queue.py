"""The instrument adds no wait of its own: a fair lock within one process waits as queueing theory says.

And what makes waiting unfair or slow is found by the measure that is made for it.
"""

from pathlib import Path
from typing import Any

import pytest

from bench.analysis.contention.fair_queue import closed_wait_ns
from tests.load.runs import run

ATTEMPTS = 3  # an instrument that adds waits of its own does so each time, and a machine that was disturbed does not
HOLD_MS = 10.0
CLOSED: dict[str, Any] = {"name": "contended", "clients": 8, "keys": 1, "hold_ms": HOLD_MS, "wait": "block"}


@pytest.mark.measures
def test_the_closed_loop_waits_for_the_seven_others(tmp_path: Path) -> None:
    hold_ms = 30.0  # beside which half a millisecond that a timer may be late is little
    found = run(tmp_path, "memory", **{**CLOSED, "hold_ms": hold_ms}, measure_s=3.0).from_events
    assert found["queue_wait_us_mean"] == pytest.approx(found["fair_wait_us_mean"], rel=0.05)
    assert found["queue_wait_us_mean"] == pytest.approx(closed_wait_ns(8, hold_ms * 1e6) / 1e3, rel=0.05)
    assert found["overtaking_share"] == 0.0
    assert found["jain_index"] > 0.99


@pytest.mark.measures
def test_think_time_is_no_wait(tmp_path: Path) -> None:
    asked = {**CLOSED, "hold_ms": 20.0, "think_ms": 60.0}
    found = run(tmp_path, "memory", **asked, measure_s=2.0).from_events
    assert found["queue_wait_us_mean"] == pytest.approx((7 * 20.0 - 60.0) * 1e3, rel=0.08)


@pytest.mark.measures
@pytest.mark.parametrize("utilisation", [0.5, 0.8])
def test_the_open_loop_waits_as_its_own_arrivals_make_it(tmp_path: Path, utilisation: float) -> None:
    arrivals = {"rate_per_s": utilisation / (HOLD_MS / 1e3), "warmup_s": 0.5}
    asked = {**CLOSED, "name": "contended-rate", "clients": 64, **arrivals}
    for attempt in range(ATTEMPTS):
        (folder := tmp_path / str(attempt)).mkdir()
        found = run(folder, "memory", **asked, measure_s=5.0).from_events
        assert 0.7 * utilisation < found["key_utilisation"] < 1.05, "of so few random arrivals"
        # Close to an idle key the waits themselves are hardly longer than what a timer is late.
        line_us = pytest.approx(found["fair_wait_us_mean"], rel=0.05, abs=0.05 * HOLD_MS * 1e3)
        if found["queue_wait_us_mean"] == line_us:
            return
    assert found["queue_wait_us_mean"] == line_us, f"{ATTEMPTS} times"


def test_a_planted_unfair_queue_is_found_by_who_was_overtaken(tmp_path: Path) -> None:
    """Who joins stands first: two clients serve each other, and the others get nothing."""
    found = run(tmp_path, "faulty", {"fault": "queue-jump"}, **CLOSED, measure_s=2.0).from_events
    assert found["overtaking_share"] > 0.9
    assert found["jain_index"] < 0.6
    assert found["clients_without_grant"] >= 4
    assert found["longest_wait_us"] > 1_500_000
    assert found["hand_off_us_p50"] < 2_000
