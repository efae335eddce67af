"""The hazard window against pause - TTL, and the map of pauses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.cells import Absent
from bench.analysis.hazards.window import PauseOutcome, WindowFit, pause_map, window_fits, window_points
from bench.analysis.intervals import Method
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders


def fit_of(system: str, *staged: Staged, number: int = 1) -> WindowFit:
    (fit,) = window_fits(records.run(records.plan("gc-pause", system, number), *staged).trials)
    return fit


def late(pause_ms: float, by_ms: float) -> Staged:
    """A pause after which the lock was granted `by_ms` later than the TTL."""
    return pause(pause_ms, overlap_ms=max(0.0, pause_ms - 1000.0 - by_ms), accepted=1)


def test_a_window_on_the_line_needs_no_reason() -> None:
    fit = fit_of("redis", pause(500.0), late(1500.0, 2.0), late(2000.0, 4.0), late(3000.0, 4.0))
    assert fit.points == 3
    assert fit.on_the_line
    assert fit.reason == ""
    assert fit.slope == pytest.approx(1.0, abs=0.01)
    assert fit.median_difference_ms == pytest.approx(4.0)
    assert fit.signed_difference_ms == pytest.approx(-4.0)
    assert fit.median_difference_ttls == pytest.approx(0.004)


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ("zookeeper", "outlive its TTL by up to 300 ms"),
        ("etcd", "last heartbeat came after the grant"),
        ("dynamodb", "from when it first saw the record"),
        ("redis", "the waiter polls"),
    ],
)
def test_a_window_off_the_line_says_why_from_the_records(system: str, words: str) -> None:
    fit = fit_of(system, late(1600.0, 250.0), late(3000.0, 300.0))
    assert not fit.on_the_line
    assert words in fit.reason
    assert "275 ms later than its TTL" in fit.reason


def test_a_lock_without_a_ttl_has_no_window() -> None:
    fit = fit_of("postgres-row", pause(1600.0), pause(4000.0))
    assert fit.slope is None
    assert "no TTL" in fit.reason


def test_a_pause_of_one_ttl_says_nothing_of_the_line() -> None:
    assert fit_of("redis", pause(1000.4)).median_difference_ms is None
    assert fit_of("redis", pause(1000.4), late(1600.0, 300.0)).points == 1


def test_a_lease_that_outlived_a_pause_does_not_bend_the_slope() -> None:
    fit = fit_of("etcd", late(1250.0, 300.0), late(2000.0, 300.0), late(3000.0, 300.0))
    assert fit.slope == pytest.approx(1.0)


def test_one_length_of_pause_has_no_slope() -> None:
    assert fit_of("redis", late(1600.0, 1.0), late(1600.3, 2.0)).slope is None


@given(st.lists(st.floats(1050.0, 9000.0), min_size=2, max_size=8), st.floats(0.0, 40.0))
def test_a_constant_delay_is_the_median_difference(pauses: list[float], by_ms: float) -> None:
    fit = fit_of("redis", *(late(one, by_ms) for one in pauses))
    assert fit.median_difference_ms == pytest.approx(by_ms, abs=0.01)
    if fit.slope is not None:
        assert fit.slope == pytest.approx(1.0, abs=0.01)


def test_intervals_come_from_runs_and_only_from_six() -> None:
    def fits(count: int) -> WindowFit:
        rows = [
            row
            for number in range(1, count + 1)
            for row in records.run(
                records.plan("gc-pause", "redis", number), pause(500.0), late(1600.0, 1.0 + number)
            ).trials
        ]
        (fit,) = window_fits(rows)
        return fit

    short, long = fits(6).at
    assert isinstance(short.overlap_ms, Absent)
    assert short.overlap_ms.reason == "no overlap in 6 of 6 runs"
    assert not isinstance(long.overlap_ms, Absent)
    assert long.overlap_ms.method is Method.T_LOG
    few = fits(5).at[1].overlap_ms
    assert not isinstance(few, Absent)
    assert few.method is Method.RANGE


def test_the_map_shows_the_worst_outcome_of_a_square() -> None:
    run = records.runs(
        "gc-pause",
        "redis",
        pause(500.0),
        two_holders(True),
        pause(fence=True, overlap_ms=600.0, accepted=1),
        two_holders(False),
        pause(2000.0, overlap_ms=900.0),
        pause(1000.0, fence=True, overlap_ms=1.0, ahead=1),
    )
    points = window_points(run.trials)
    cells = {(cell.pause_ttls, cell.fence): cell for cell in pause_map(points)}
    assert cells[0.5, False].worst is PauseOutcome.ONE_HOLDER
    assert cells[1.6, True].worst is PauseOutcome.ACCEPTED
    assert cells[1.6, True].outcomes == {PauseOutcome.REFUSED: 1, PauseOutcome.ACCEPTED: 1}
    assert cells[1.6, False].worst is PauseOutcome.ACCEPTED
    assert cells[2.0, False].worst is PauseOutcome.UNSEEN
    assert cells[1.0, True].worst is PauseOutcome.AHEAD
    assert points[1].expected_ms == pytest.approx(600.0)
    assert points[0].expected_ms == 0.0


def test_the_map_is_of_one_protocol() -> None:
    at_write = records.run(
        records.plan("gc-pause", "redis", 1, presented="at_write"), pause(fence=True, overlap_ms=600.0, ahead=1)
    )
    before_read = records.run(records.plan("gc-pause", "redis", 2, presented="before_read"), two_holders(True))
    (cell,) = pause_map(window_points([*at_write.trials, *before_read.trials]))
    assert cell.outcomes == {PauseOutcome.REFUSED: 1}


def test_the_page_scenario_is_a_point_and_no_part_of_the_fit() -> None:
    page = Staged({"fence": False}, {"pause_ms": 8000.2, "wait_ms": -1.0}, ttl_ms=5000, overlap_ms=2990.0, accepted=1)
    run = records.runs("page-scenario", "redis", page)
    assert window_fits(run.trials) == ()
    (point,) = window_points(run.trials)
    assert (point.pause_ttls, point.wait_ms) == (1.6, None)
    assert point.difference_ms == pytest.approx(-10.2, abs=0.01)
