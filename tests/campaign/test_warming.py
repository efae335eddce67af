"""Servers have load before their first run until their throughput is flat, and the record says so."""

from pathlib import Path

import numpy as np
import pytest

from bench.campaign import warming
from bench.campaign.modes import FULL
from bench.campaign.warming import ROUNDS_AT_ONCE, warm_up
from bench.load.events import write_events
from bench.load.rows import CODES, COLUMNS, NO_TOKEN
from bench.records.schema import RunPlan, WarmUp
from bench.records.store import RunFolder
from bench.servers.running.pinning import Placement, place
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import Outcome
from tests.campaigns import plans

ROUND_S = 0.5


class Load:
    """A made-up load that reaches these rates, round by round, and stays at the last one."""

    def __init__(self, rates: list[int]) -> None:
        self.rates = rates
        self.starts: list[RunPlan] = []

    def __call__(self, plan: RunPlan, folder: RunFolder, supervisor: Supervisor, placement: Placement) -> None:
        begun = len(self.starts) * ROUNDS_AT_ONCE
        self.starts.append(plan)
        instants: list[float] = []
        for number in range(ROUNDS_AT_ONCE):
            rate = self.rates[min(begun + number, len(self.rates) - 1)]
            instants += [number * ROUND_S + place / rate for place in range(round(rate * ROUND_S))]
        rows = np.zeros((len(instants), len(COLUMNS)), dtype=np.int64)
        acquired_ns = (np.array(instants) * 1e9).astype(np.int64) + 1_000
        for name, values in {
            "started_ns": acquired_ns - 100,
            "acquired_ns": acquired_ns,
            "outcome": CODES[Outcome.ACQUIRED],
            "token": NO_TOKEN,
        }.items():
            rows[:, COLUMNS.index(name)] = values
        write_events(folder.events_path, rows)


def warmed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rates: list[int], system: str = "zookeeper", at_most: int = 60
) -> tuple[WarmUp, Load, list[str]]:
    load, told = Load(rates), list[str]()
    monkeypatch.setattr(warming, "run_load", load)
    (plan,) = plans(systems=[system], workloads=["uncontended"], repetitions=1)
    found = warm_up(plan, folder, Supervisor(folder / "home"), place(False, 1), ROUND_S, at_most, told.append)
    assert list(folder.iterdir()) == [], "scratch files stayed"
    return found, load, told


@pytest.mark.parametrize(("at_most", "starts"), [(60, 2), (10, 1)], ids=["full", "quick"])
def test_a_server_that_is_fast_at_once_has_as_much_load_as_it_takes_to_see(
    at_most: int, starts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, load, _ = warmed(tmp_path, monkeypatch, [2_000], at_most=at_most)
    rounds = (2_000.0,) * (starts * ROUNDS_AT_ONCE)
    assert found == WarmUp(round_s=ROUND_S, pairs_per_s=rounds, change=0.0, flat=True)
    assert len(load.starts) == starts


def test_a_server_that_compiles_itself_has_load_until_it_is_as_fast_as_it_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rising = [500 + 100 * number for number in range(25)]
    found, load, told = warmed(tmp_path, monkeypatch, rising)
    assert found.flat
    assert len(found.pairs_per_s) == 40
    assert found.pairs_per_s[:2] == (500.0, 600.0)
    assert len({start.seed for start in load.starts}) == 4, "keys of their own"
    assert "ZooKeeper, 10 s so far: 1450 pairs/s, last +" in told[2]


def test_a_server_that_is_never_flat_is_recorded_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, _ = warmed(tmp_path, monkeypatch, [100 * number for number in range(1, 200)], at_most=35)
    assert not found.flat
    assert found.change is not None
    assert found.change > 0.1
    assert len(found.pairs_per_s) == 30


def test_a_server_that_grants_nothing_is_not_called_warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _, _ = warmed(tmp_path, monkeypatch, [0], at_most=10)
    assert (found.flat, found.change) == (False, None)


@pytest.mark.parametrize(("system", "name", "wait"), [("etcd", "hot-cold", "watch"), ("redis", "saturation", "try")])
def test_the_load_waits_where_the_server_knows_of_it(
    system: str, name: str, wait: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, load, _ = warmed(tmp_path, monkeypatch, [2_000], system)
    assert (load.starts[0].workload.name, load.starts[0].workload.wait) == (name, wait)


def test_a_full_campaign_gives_a_minute() -> None:
    assert FULL.warming_round_s * FULL.warming_rounds_at_most == 60
