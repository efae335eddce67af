"""What makes waiting unfair or slow is found by the measure that is made for it, and by no other."""

import threading
import time

import numpy as np
import pytest

from bench.analysis.contention.measures import contention
from bench.analysis.holds import Holds, RunEvents
from bench.conformance.catalogue import CHECKS
from bench.conformance.harness import Harness
from bench.conformance.play import store_of_its_own
from bench.records.workload import Workload
from bench.systems.base import ClientOptions, Grant
from bench.systems.faulty.lock import FaultyLock
from bench.systems.memory.store import store_at
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait

FEW, MANY, GRANTS = 3, 12, 36
HOLD_S = 0.001
WAIT = Wait.parse("queue-60000ms")

OWN_MEASURE = {
    "": set(),
    "queue-jump": {"overtaking share"},
    "herd": {"requests per grant"},
    "slow-hand-off": {"hand-off"},
    "lost-wake-up": {"lost wake-up"},
}


def contended(fault: str, clients: int) -> tuple[dict[str, float], float]:
    """The measures of a short closed loop on one key, and what the store was asked per grant."""
    endpoint, grants, start = store_of_its_own(), list[tuple[int, ...]](), threading.Barrier(clients)
    options = [ClientOptions(client=f"c{number}", variant={"fault": fault}) for number in range(clients)]
    locks = [FaultyLock.open(endpoint, mine) for mine in options]

    def take_turns(client: int) -> None:
        start.wait()
        for _ in range(GRANTS // clients):
            started_ns = time.monotonic_ns()
            answer = locks[client].acquire("hot", 60_000, 30_000, WAIT)
            acquired_ns = time.monotonic_ns()
            assert isinstance(answer, Grant)
            time.sleep(HOLD_S)  # pace: the hold
            until_ns = time.monotonic_ns()
            locks[client].release(answer)
            grants.append((client, 0, started_ns, acquired_ns, until_ns, answer.token or 0, time.monotonic_ns()))

    threads = [threading.Thread(target=take_turns, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(grants) == GRANTS
    client, key, started, acquired, until, token, freed = np.array(grants, dtype=np.int64).T
    holds = Holds.of(client, key, started, acquired, until, token, freed_ns=freed)
    events = RunEvents({"acquired": GRANTS}, holds, clients)
    workload = Workload(name="contended", keys=1, clients=clients, hold_ms=HOLD_S * 1e3)
    return dict(contention(workload, events)), store_at(endpoint).requests / GRANTS


def loses_a_wake_up(fault: str) -> bool:
    with Harness(SYSTEMS["faulty"], store_of_its_own(), {"fault": fault}) as bench:
        try:
            CHECKS["lost_wake_up"](bench)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("fault", OWN_MEASURE, ids=lambda fault: fault or "sound")
def test_each_planted_fault_is_found_by_its_own_measure(fault: str) -> None:
    (few, requests_few), (many, requests_many) = contended(fault, FEW), contended(fault, MANY)
    found = {
        "overtaking share": many["overtaking_share"] > 0.2,
        "requests per grant": requests_many > 2 * requests_few,  # in proportion to those who wait
        "hand-off": few["hand_off_us_p50"] > 15_000,
        "lost wake-up": loses_a_wake_up(fault),
    }
    assert {measure for measure, says_so in found.items() if says_so} == OWN_MEASURE[fault], (few, many)
