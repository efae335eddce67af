"""Which trials of clocks could have shown harm: by what was staged, whatever came of it."""

from dataclasses import replace

import pytest

from bench.analysis.hazards import clock_exposure
from bench.analysis.hazards.rows import TrialRow
from bench.records.hazards import Scalar
from tests.analysis.hazards import records
from tests.analysis.hazards.records import NS_PER_MS, Staged, jump, window

TTL_MS = 1000


def staged(kind: str, amount_ms: float, shown: bool, **parameters: Scalar) -> Staged:
    return Staged(parameters, overlap_ms=200.0 * shown, faults=(window(kind, amount=amount_ms),))


def row_of(scenario: str, system: str, one: Staged) -> TrialRow:
    (row,) = records.runs(scenario, system, one).trials
    return row


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(
    ("system", "by_ms", "exposed"),
    [
        ("redis", 0, False),  # a control
        ("redis", TTL_MS, False),  # no more than the lease
        ("redis", TTL_MS + 2, True),
        ("redis", -3_600_000, False),  # back: the lease only gets longer
        ("zookeeper", 1_250, False),  # a session may outlive its TTL by a tick and a half
        ("zookeeper", 3_000, True),  # monotonic time, say its designers: that is what the trial tests
        ("etcd", 1_500, False),
        ("etcd", 3_000, True),
        ("etcd", -3_000, False),
        ("postgres-row", 3_600_000, False),  # there is no lease
        ("dynamodb", 3_600_000, False),  # the clients judge it
    ],
)
def test_the_servers_clocks_went_ahead_by_more_than_a_lease(
    system: str, by_ms: float, exposed: bool, shown: bool
) -> None:
    row = row_of("server-clock", system, staged("clock_jump", by_ms, shown))
    assert clock_exposure.servers_ahead(row) is exposed


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(("by_ms", "exposed"), [(4.0, False), (6.0, True), (550.0, True)])
def test_a_jump_near_the_end_of_the_validity_needs_to_be_no_longer_than_what_is_left(
    by_ms: float, exposed: bool, shown: bool
) -> None:
    """5 ms of the validity. Whether the 7 ms that it sets aside help is on trial."""
    assert clock_exposure.servers_ahead(row_of("redlock-clock", "redlock", jump(by_ms, shown))) is exposed


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(
    ("percent", "exposed"), [(0.04, False), (0.1, True), (0.9, True), (2.0, True), (0.0, False), (-2.0, False)]
)
def test_clocks_that_run_fast_count_once_they_gain_more_than_is_left(
    percent: float, exposed: bool, shown: bool
) -> None:
    """5 ms of ten seconds are left: 0.05 %. The 102 ms that are set aside are what is on trial."""
    measures = {"rate_percent": percent, "held_ms": 9_893.0, "remaining_validity_ms": 5.0, "drift_ms": 102.0}
    drifting = Staged({"nodes_held": 3}, measures, ttl_ms=10_000, overlap_ms=4.0 * shown)
    assert clock_exposure.servers_drifted(row_of("redlock-drift", "redlock", drifting)) is exposed
    late = replace(drifting, measures={**measures, "remaining_validity_ms": -0.1})
    assert not clock_exposure.servers_drifted(row_of("redlock-drift", "redlock", late))


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(
    ("system", "whose", "by_ms", "exposed"),
    [
        ("dynamodb-client-clock", "contender", 1_500, True),
        ("dynamodb-client-clock", "contender", 500, False),
        ("dynamodb-client-clock", "contender", -3_600_000, False),  # it waits too long, and takes nothing
        ("dynamodb-client-clock", "holder", -1_500, True),
        ("dynamodb-client-clock", "holder", 1_500, False),
        ("dynamodb", "contender", 1_500, True),  # its clients judge, by what clock is the question
        ("redlock", "contender", 3_600_000, False),
        ("redis", "holder", -3_600_000, False),
        ("zookeeper", "contender", 3_600_000, False),
        ("etcd", "contender", 3_600_000, False),
        ("postgres-row", "contender", 3_600_000, False),
    ],
)
def test_a_clients_clock_counts_where_clients_judge(
    system: str, whose: str, by_ms: float, exposed: bool, shown: bool
) -> None:
    row = row_of("client-clock", system, staged("client_clock", by_ms, shown, whose=whose))
    assert clock_exposure.client_wrong(row) is exposed


@pytest.mark.parametrize("recovery_ms", [1_010.0, 9_000.0])
@pytest.mark.parametrize(
    ("system", "back_ms", "after_ms", "exposed"),
    [
        ("redis", 3_000, 100, True),
        ("redis", 3_000, 1_500, False),  # nothing of the lease was left
        ("redis", 500, 100, False),
        ("redis", -3_000, 100, False),  # ahead
        ("redis", 0, 100, False),
        ("zookeeper", 3_000, 100, True),
        ("etcd", 2_000, 100, False),
        ("postgres-row", 60_000, 100, False),
        ("dynamodb", 60_000, 100, False),
    ],
)
def test_the_servers_clocks_went_back_while_a_dead_holders_lease_ran(
    system: str, back_ms: float, after_ms: float, exposed: bool, recovery_ms: float
) -> None:
    step = window("clock_jump", amount=-back_ms).model_copy(update={"began_ns": int(after_ms * NS_PER_MS)})
    crashed = Staged(measures={"recovery_ms": recovery_ms}, faults=(window("kill"), step))
    assert clock_exposure.servers_back_after_crash(row_of("clock-back-and-crash", system, crashed)) is exposed


@pytest.mark.parametrize(
    ("system", "by_servers", "by_client"),
    [
        ("redis", "", clock_exposure.SERVERS_JUDGE),
        ("etcd", "", clock_exposure.SERVERS_JUDGE),
        ("postgres-row", clock_exposure.NO_LEASE, clock_exposure.NO_LEASE),
        ("dynamodb", clock_exposure.CLIENTS_JUDGE, ""),
    ],
)
def test_where_no_clock_can_end_a_lease_it_says_why(system: str, by_servers: str, by_client: str) -> None:
    row = row_of("server-clock", system, staged("clock_jump", 3_600_000, False))
    assert (clock_exposure.why_not_by_servers(row), clock_exposure.why_not_by_client(row)) == (by_servers, by_client)
