"""The smallest TTL: simulated holders that renew every third of it lose as many leases as was chosen, and no more."""

import random
from dataclasses import replace

import pytest

from bench.analysis.cells import Absent
from bench.analysis.hazards.recovery import RecoveryPoint
from bench.analysis.network.cost_model import Network
from bench.analysis.network.lateness import Late
from bench.analysis.network.ttl import Advice, advice, smallest_ttl_ms
from tests.analysis.network.test_cost_model import FSYNC_US, LOOPBACK_US, made_up, path

HERE = Network(LOOPBACK_US, LOOPBACK_US, FSYNC_US)
REGION = Network(2_000.0, 2_000.0, FSYNC_US)


def one(late: Late | None, **capabilities: str) -> Advice:
    of = made_up({**path(), "lease_scope": "grant", **capabilities})
    points = [RecoveryPoint("etcd", f"run-{n}", "1", 1_000, 1_000.0 + 10.0 * n, 1_000.0) for n in range(1, 4)]
    (found,) = advice([of], REGION, HERE, late, {"etcd": points})
    return found


def test_a_holder_that_renews_every_third_loses_as_many_as_was_chosen() -> None:
    """Played: renewals are due every third of a TTL, each late by chance, and take their time to arrive."""
    dice = random.Random(8)
    late_ms = [dice.expovariate(1 / 20.0) for _ in range(200_000)]
    chosen, renewal_ms = 0.01, 2.0
    by_ms = sorted(late_ms)[int(len(late_ms) * (1.0 - chosen))]
    ttl_ms = smallest_ttl_ms(by_ms, renewal_ms)
    lost = sum(ttl_ms / 3.0 + late + renewal_ms > ttl_ms for late in late_ms)
    assert lost / len(late_ms) == pytest.approx(chosen, rel=0.1)
    shorter = 0.9 * ttl_ms
    assert sum(shorter / 3.0 + late + renewal_ms > shorter for late in late_ms) / len(late_ms) > 1.2 * chosen


def test_it_grows_with_pauses_and_round_trips_and_costs_as_much_after_a_crash() -> None:
    found = one(Late(1e-4, 100e6, 9))
    assert found.ttl_ms == smallest_ttl_ms(100.0, 2.2)
    assert not found.by_server
    assert found.recovery_ms == pytest.approx(found.ttl_ms + 20.0 + (2_000.0 - LOOPBACK_US) / 1e3)
    assert found.recovery_ms_high == pytest.approx(found.ttl_ms + 30.0 + (2_000.0 - LOOPBACK_US) / 1e3)
    assert found.crashes == 3


def test_servers_have_a_least_lease_and_some_locks_have_none() -> None:
    least = one(Late(1e-4, 100e6, 9), ttl_min_ms="2000")
    assert (least.ttl_ms, least.by_server) == (2_000, True)
    assert one(Late(1e-4, 100e6, 9), lease_scope="none").ttl_ms == Absent("n/a (no lease)")
    unknown = one(None)
    assert unknown.ttl_ms == unknown.recovery_ms == Absent("not carried")


def test_without_crashes_its_price_is_not_measured() -> None:
    of = replace(made_up(path()), system="redis")
    (found,) = advice([of], REGION, HERE, Late(1e-4, 100e6, 9), {})
    assert found.recovery_ms == Absent("not measured")
