"""Waits over a network: the fair-queue bound, with hand-offs lengthened by their round trips."""

import pytest

from bench.analysis.network.cost_model import Network, cost_model
from bench.analysis.network.hand_off import fair_wait_us, hand_offs, nearest_plans
from bench.analysis.runs import RunRow
from bench.records.workload import Workload
from tests import campaigns
from tests.analysis.network.test_cost_model import FSYNC_US, LOOPBACK_US, made_up, path
from tests.run_rows import run_row

HERE = Network(LOOPBACK_US, LOOPBACK_US, FSYNC_US)
THERE = Network(1_000.0, 3_000.0, FSYNC_US)


def contended(system: str, wait: str, mean_us: float) -> RunRow:
    workload = Workload(name="contended", clients=8, keys=1, hold_ms=1.0, wait=wait)
    metrics = {"hand_off_us_mean": mean_us}
    return run_row(f"{system}-1", system, workload, 1, metrics=metrics, capabilities=path(2, 1, 1))


@pytest.mark.parametrize(
    ("system", "wait", "trips"),
    [("etcd", "watch", (1, 2)), ("postgres-row", "block", (0, 0)), ("redis", "poll-5ms", (2, 1))],
)
def test_a_wait_is_what_all_others_keep_the_lock_for(system: str, wait: str, trips: tuple[int, int]) -> None:
    """The trips of a hand-off are the system's own; who polls asks for a free lock, as without contention."""
    found = hand_offs([contended(system, wait, 400.0)], HERE)[system]
    longer_us = trips[0] * (1_000.0 - LOOPBACK_US) + trips[1] * (3_000.0 - LOOPBACK_US)
    assert found.at_us(THERE).value == pytest.approx(400.0 + longer_us)
    release = cost_model(made_up(path()), "release")
    assert release is not None
    waited = fair_wait_us(found, release, THERE, clients=8, hold_ms=5.0)
    assert waited.value == pytest.approx(7 * (5_000.0 + 1_200.0 + 400.0 + longer_us))


def test_the_nearest_workload_is_taken_of_each_system() -> None:
    plans = campaigns.plans(("redis", "etcd"), ("contended", "uncontended"), 2)
    many = [
        plan.model_copy(update={"workload": plan.workload.model_copy(update={"clients": clients})})
        for plan in plans
        for clients in (2, 8, 64)
    ]
    found = nearest_plans(many, clients=12, hold_ms=1.0)
    assert {(plan.system, plan.workload.name, plan.workload.clients) for plan in found} == {
        ("redis", "contended", 8),
        ("etcd", "contended", 8),
    }
    strange = [
        plan.model_copy(update={"workload": plan.workload.model_copy(update={"strangers": 1})}) for plan in plans
    ]
    assert not nearest_plans(strange, 8, 1.0)
