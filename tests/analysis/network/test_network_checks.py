"""A run whose network was not what the probe saw is marked, and says why."""

import pytest

from bench.analysis.network.checks import network_delay, network_lines, peer_network_delay, peer_network_lines
from bench.analysis.notes import CHECKS
from bench.analysis.selfchecks import self_checks
from bench.records.schema import NetworkMeasured
from tests.analysis.network.made_up import network, peer_network, trips
from tests.load.test_selfchecks import events, measured, plan

PLAN, OVER, APART = plan(), plan(network="rtt=1ms"), plan(peer_network="rtt=1ms")


def checked(found: NetworkMeasured | None) -> dict[str, str]:
    record = measured(network=found)
    checks = (network_delay(OVER, record, events()), network_lines(OVER, record, events()))
    return {one.name: "" if one.passed else f"{one.severity}: {one.message}" for one in checks}


def test_good_lines_pass() -> None:
    assert checked(network(1_010.0)) == {"network_delay": "", "network_lines": ""}
    assert checked(network(1_010.0, late_us_p50=None, late_us_p50_alone=None)) == checked(network(1_010.0))


def test_another_round_trip_than_asked_for_is_a_note() -> None:
    found = checked(network(1_010.0, added_us_asked=900.0))
    assert found["network_delay"].startswith("note: the round trip was not as asked for")
    assert not found["network_lines"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"after": (trips(1_200.0),)}, "another before than after"),
        ({"busy_share": 0.71}, "the delay lines were the bottleneck"),
        ({"late_us_p50": 60.0}, "held longer than the probe's"),
    ],
)
def test_lines_that_bind_or_change_void_a_run(changes: dict[str, object], why: str) -> None:
    found = checked(network(1_010.0, **changes))
    assert found["network_lines"].startswith("void: ")
    assert why in found["network_lines"]


def test_a_network_that_nobody_measured_voids_the_run() -> None:
    assert checked(None)["network_lines"].startswith("void: ")


def test_networks_between_servers_are_asked_the_same_and_more() -> None:
    def between(**changes: object) -> dict[str, str]:
        record = measured(peer_network=peer_network(1_010.0, **changes))
        checks = (peer_network_delay(APART, record, events()), peer_network_lines(APART, record, events()))
        return {one.name: "" if one.passed else f"{one.severity}: {one.message}" for one in checks}

    assert between() == {"peer_network_delay": "", "peer_network_lines": ""}
    assert between(added_us_asked=900.0)["peer_network_delay"].startswith("note: the round trip was not as asked for")
    for changes, why in (
        ({"busy_share": 0.71}, "the delay lines were the bottleneck"),
        ({"past_lines": ("etcd-1, port 1 from port 2",)}, "past the lines (etcd-1, port 1 from port 2)"),
        ({"leader_after": "etcd-3"}, "etcd-2 led before and etcd-3 after"),
    ):
        found = between(**changes)["peer_network_lines"]
        assert found.startswith("void: ")
        assert why in found
    assert peer_network_lines(APART, measured(), events()).severity == "void"


def test_only_runs_over_a_network_are_checked_so() -> None:
    names = {"network_delay", "network_lines"}
    assert not names & {one.name for one in self_checks(PLAN, measured(), events())}
    assert names <= {one.name for one in self_checks(OVER, measured(), events())}
    between = {f"peer_{name}" for name in names}
    assert not between & {one.name for one in self_checks(OVER, measured(), events())}
    assert between <= {one.name for one in self_checks(APART, measured(), events())}
    assert names | between <= CHECKS.keys()
