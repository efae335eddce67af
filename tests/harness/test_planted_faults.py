"""A broken lock is found by the check that is there for it, in a whole run; a sound one is not accused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.load.runs import Ran, run

CONTENDED: dict[str, Any] = {
    "name": "contended",
    "clients": 4,
    "keys": 1,
    "hold_ms": 1.0,
    "wait": "poll-5ms",
    "timeout_ms": 300,
}
LOCK_CHECKS = {"mutual_exclusion", "lost_updates", "token_order", "overlap"}


def failed(ran: Ran) -> set[str]:
    """Of the checks of the lock and its client, those that did not pass."""
    return {name for name in LOCK_CHECKS if not ran.checks[name].passed}


def test_a_planted_double_grant_is_found(tmp_path: Path) -> None:
    ran = run(tmp_path, "faulty", {"fault": "double-grant", "every": "3"}, **CONTENDED)
    assert {"mutual_exclusion", "lost_updates"} <= failed(ran)
    assert "within the first lease" in ran.checks["mutual_exclusion"].message


@pytest.mark.parametrize("fault", ["early-expiry", "release-frees-other,double-grant"])
def test_a_planted_lost_update_is_found(tmp_path: Path, fault: str) -> None:
    """The lease ends in the middle of a hold, or somebody frees the key: two clients change one counter."""
    slow = {**CONTENDED, "ttl_ms": 60, "hold_ms": 45.0, "timeout_ms": 500, "measure_s": 1.0}
    ran = run(tmp_path, "faulty", {"fault": fault, "every": "3"}, **slow)
    assert ran.measured.lost_updates > 0
    assert {"mutual_exclusion", "lost_updates"} <= failed(ran)


def test_a_hold_within_its_lease_loses_no_update(tmp_path: Path) -> None:
    slow = {**CONTENDED, "ttl_ms": 10_000, "hold_ms": 45.0, "timeout_ms": 500, "measure_s": 1.0}
    ran = run(tmp_path, "faulty", **slow)
    assert ran.measured.lost_updates == 0
    assert not failed(ran)


@pytest.mark.parametrize("fault", ["token-falls", "token-repeats", "token-restarts"])
def test_a_planted_token_regression_is_found(tmp_path: Path, fault: str) -> None:
    in_turn = {**CONTENDED, "wait": "block"}  # who polls may get the lock again and again, and counts alone
    ran = run(tmp_path, "faulty", {"fault": fault, "every": "7"}, **in_turn)
    assert failed(ran) == {"token_order"}


@pytest.mark.measures
def test_a_planted_serial_client_is_found(tmp_path: Path) -> None:
    ran = run(tmp_path, "faulty", {"fault": "serial-client,latency", "latency": "constant:2000"}, **CONTENDED)
    assert failed(ran) == {"overlap"}


@pytest.mark.measures
@pytest.mark.parametrize(
    ("variant", "more"),
    [
        pytest.param({}, {}, id="no fault"),
        pytest.param({"fault": "latency", "latency": "constant:2000"}, {}, id="slow, but side by side"),
        pytest.param({}, {"name": "hot-cold", "keys": 20, "zipf_exponent": 0.99}, id="hot-cold"),
    ],
)
def test_a_sound_lock_is_not_accused(tmp_path: Path, variant: Mapping[str, str], more: dict[str, Any]) -> None:
    ran = run(tmp_path, "faulty", variant, **{**CONTENDED, **more})
    assert not failed(ran)
    assert ran.checks["contention"].passed
    assert ran.checks["errors"].passed
    assert ran.checks["littles_law"].passed, ran.checks["littles_law"].observed
