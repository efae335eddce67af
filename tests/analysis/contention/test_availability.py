"""Availability of histories whose truth is known: a gap, a queue that keeps its order through it, one that does not."""

import numpy as np
import pytest

from bench.analysis.contention.availability import availability, over_time
from bench.analysis.holds import Holds, Refused, RunEvents
from bench.records.schema import Struck
from bench.records.workload import Workload

MS = 1_000_000
OPENS = 1_000 * MS
WORKLOAD = Workload(name="contended-rate", clients=8, keys=1, rate_per_s=100.0, measure_s=10.0)
Grants = list[tuple[int, int]]


def fault(began_ms: int, ended_ms: int | None, window_opens_ns: int = OPENS, in_force_ms: int | None = None) -> Struck:
    return Struck(
        kind="majority-stopped",
        target="n1, n2",
        window_opens_ns=window_opens_ns,
        began_ns=OPENS + began_ms * MS,
        ended_ns=None if ended_ms is None else OPENS + ended_ms * MS,
        in_force_ns=None if in_force_ms is None else OPENS + in_force_ms * MS,
        confirmed="seen",
    )


def history(grants: Grants, refusals: "list[tuple[int, int, str]] | None" = None) -> RunEvents:
    """Each grant as (asked, granted) and each refusal as (asked, answered, outcome), in ms of the window."""
    asked, granted = (OPENS + np.array(column, dtype=np.int64) * MS for column in zip(*grants, strict=True))
    client = np.arange(len(grants), dtype=np.int64)
    holds = Holds.of(client, client * 0, asked, granted, granted + MS, client * 0 - 1, freed_ns=granted + MS)
    given = refusals or []
    times = OPENS + np.array([(one[0], one[1]) for one in given], dtype=np.int64).reshape(-1, 2) * MS
    outcomes = np.array([one[2] for one in given], dtype=np.str_)
    refused = Refused(times[:, 0] * 0, times[:, 0], times[:, 0], times[:, 1], outcomes)
    return RunEvents({"acquired": len(grants)}, holds, len(grants), refused=refused)


def steadily(first_ms: int, last_ms: int) -> Grants:
    return [(at, at + 2) for at in range(first_ms, last_ms, 10)]


BEFORE, AFTER = steadily(0, 3_000), steadily(5_600, 9_990)
QUEUE = [3_100, 3_200, 3_300]


def test_the_time_without_a_grant_and_until_grants_return() -> None:
    waited = [(asked, 5_500 + 10 * place) for place, asked in enumerate(QUEUE)]
    errors = [(3_050, 3_060, "error"), (4_000, 5_000, "timeout"), (9_000, 9_001, "error")]
    found = availability(WORKLOAD, [fault(3_000, 5_000)], history([*BEFORE, *waited, *AFTER], errors))
    assert found["without_grant_s"] == pytest.approx(2.508)
    assert found["without_grant_from_s"] == pytest.approx(-0.008)
    assert found["grants_again_s"] == pytest.approx(0.5)
    assert found["grants_again"] == 1.0
    assert found["longest_wait_s"] == pytest.approx(2.4)
    counts = {name: value for name, value in found.items() if name.endswith(("_acquired", "_error", "_timeout"))}
    assert counts == {
        "before_acquired": 300.0,
        "during_error": 1.0,
        "after_timeout": 1.0,
        "after_acquired": float(len(AFTER) + 3),
        "after_error": 1.0,
    }


def test_grants_to_requests_from_before_the_window_are_grants() -> None:
    """They are in no count. In an unfair queue they come at any time."""
    own = history([*BEFORE, *AFTER])
    old = [(-500, at) for at in range(3_005, 5_600, 10)]
    found = availability(WORKLOAD, [fault(3_000, 5_000)], own, history(sorted([*BEFORE, *old, *AFTER])))
    assert found["without_grant_s"] == pytest.approx(0.013)
    alone = availability(WORKLOAD, [fault(3_000, 5_000)], own)
    assert alone["without_grant_s"] > 2.5
    assert {name: found[name] for name in found if name.endswith("_acquired")} == {
        name: alone[name] for name in alone if name.endswith("_acquired")
    }


def test_a_gap_that_does_not_meet_the_fault_is_not_its_own() -> None:
    found = availability(WORKLOAD, [fault(3_000, 3_100)], history([*steadily(0, 6_000), *steadily(9_000, 9_990)]))
    assert found["without_grant_s"] == pytest.approx(0.01)


@pytest.mark.parametrize(("order", "share"), [([0, 1, 2], 0.0), ([2, 0, 1], 1.0 / 3.0)])
def test_whether_those_who_waited_were_overtaken(order: list[int], share: float) -> None:
    waited = [(QUEUE[number], 5_500 + 10 * place) for place, number in enumerate(order)]
    # A grant between their requests: what lies closer together the clients' clocks cannot order.
    between = [(3_150, 3_160), (3_250, 3_260)]
    found = availability(WORKLOAD, [fault(3_300, 5_000)], history([*BEFORE, *between, *waited, *AFTER]))
    assert found["waited_through"] == 3.0
    assert found["overtook_afterwards_share"] == pytest.approx(share)


def test_a_fault_after_which_nothing_was_granted_is_a_lower_bound() -> None:
    found = availability(WORKLOAD, [fault(3_000, 5_000)], history(BEFORE, [(3_100, 9_000, "timeout")]))
    assert found["grants_again"] == 0.0
    assert found["without_grant_s"] == pytest.approx(7.008)
    assert found["grants_again_s"] == pytest.approx(5.0)
    assert "waited_through" not in found


def test_grants_that_return_while_a_fault_is_in_force() -> None:
    """Others elected a leader; the one that was killed serves again later, or after the window."""
    for ended_ms in (9_000, 12_000):
        elected = [*BEFORE, (3_100, 5_500), *AFTER]
        found = availability(WORKLOAD, [fault(3_000, ended_ms)], history(elected))
        assert found["without_grant_s"] == pytest.approx(2.508)
        assert (found["grants_again_s"], found["grants_again"]) == (0.0, 1.0)
        assert found["waited_through"] == 1.0


@pytest.mark.parametrize(
    "grants",
    [
        [*steadily(0, 4_950), *steadily(5_070, 9_990)],
        # Who is served had asked before the fault.
        [*steadily(0, 2_990), *((2_900, at) for at in range(3_000, 4_951, 50)), *steadily(5_070, 9_990)],
        [*steadily(0, 2_990), (3_500, 4_000), *steadily(5_600, 9_990)],
    ],
)
def test_grants_that_never_stopped_do_not_return(grants: Grants) -> None:
    """The longest time between two of them happens to meet the fault's end: nothing had to come back."""
    assert availability(WORKLOAD, [fault(3_000, 5_000)], history(grants))["grants_again_s"] == 0.0


@pytest.mark.parametrize(
    ("answers", "in_force_ms"),
    [
        ([(2_990, 3_004)], None),  # on its way when the fault struck
        ([(2_990, 3_004), (3_001, 3_012), (3_002, 3_020)], 3_015),  # the last servers were still being stopped
    ],
)
def test_answers_that_were_on_their_way_are_no_grants_of_the_fault(answers: Grants, in_force_ms: int | None) -> None:
    struck = fault(3_000, 5_000, in_force_ms=in_force_ms)
    found = availability(WORKLOAD, [struck], history([*steadily(0, 2_990), *answers, *AFTER]))
    assert found["grants_again_s"] == pytest.approx(0.602)


@pytest.mark.parametrize("ended_ms", [None, 13_000])
def test_a_fault_that_struck_when_all_was_over_has_no_numbers(ended_ms: int | None) -> None:
    assert availability(WORKLOAD, [fault(12_000, ended_ms)], history(steadily(0, 9_990))) == {}


def test_a_holder_that_was_killed_is_an_instant() -> None:
    found = availability(WORKLOAD, [fault(3_000, None)], history([*BEFORE, (3_050, 5_000), *AFTER]))
    assert found["fault_s"] == 0.0
    assert found["grants_again_s"] == pytest.approx(2.0)
    assert not any(name.startswith("during_") for name in found)


def test_percentiles_only_where_the_sample_carries_them() -> None:
    found = availability(WORKLOAD, [fault(3_000, 5_000)], history([*BEFORE, *AFTER]))
    assert found["before_us_p50"] == found["after_us_p50"] == 2_000.0
    assert "before_us_p99" not in found, "300 operations are too few"
    assert found["after_us_p99"] == 2_000.0


def test_runs_without_a_fault_have_none_of_it() -> None:
    assert availability(WORKLOAD, [], history(BEFORE)) == {}
    assert over_time([], history(BEFORE)) is None


def test_over_time_has_the_slowest_of_each_outcome_within_ten_milliseconds() -> None:
    found = over_time([fault(3_000, None)], history([(0, 2), (4, 9), (20, 25)], [(1, 4, "error")]))
    assert found is not None
    shown = list(zip(found.at_ms, found.took_ms, found.outcomes, strict=True))
    assert shown == [(1.0, 3.0, "error"), (4.0, 5.0, "acquired"), (20.0, 5.0, "acquired")]
