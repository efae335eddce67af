"""What is measured of the machine is plausible, and the round trip is that of the quickest burst."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.analysis.quantiles import carries
from bench.records import environment


def test_the_machine_is_measured(tmp_path: Path) -> None:
    found = environment.capture_environment(tmp_path)
    assert 0 < found.fdatasync_us_p50 <= found.fdatasync_us_p99
    assert carries(found.fdatasync_calls, 0.99), "the house's own rule for a percentile"
    assert 0 < found.loopback_rtt_us_p50 < 100_000
    assert found.cpu_count >= 1
    assert found.memory_bytes > 0
    assert found.filesystem != "unknown"
    assert set(found.libraries) == set(environment.LIBRARIES)


def test_a_burst_on_another_processor_does_not_raise_the_floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bursts: Iterator[list[float]] = iter([[17.0, 18.0, 90.0], [5.0, 6.0, 400.0], *[[16.0, 16.0, 16.0]] * 20])
    monkeypatch.setattr(environment, "_burst_us", lambda on_one_processor: next(bursts))
    found = environment.capture_environment(tmp_path)
    assert found.loopback_rtt_us_p50 == 6.0
    assert found.loopback_rtt_us_bursts == (18.0, 6.0, *[16.0] * 6), "all are told, in their order"


def test_measuring_leaves_this_thread_where_it_may_run() -> None:
    before = os.sched_getaffinity(0)
    environment._loopback_bursts_us()
    assert os.sched_getaffinity(0) == before
