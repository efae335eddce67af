"""The live page's holders on real servers: every button does what it says, ends by itself, and leaves all as it was."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import psutil
import pytest

from bench.campaign.live.staging.actors import Actors
from bench.campaign.live.staging.buttons import BUTTONS, buttons_of
from bench.campaign.live.staging.staging import Staging
from bench.errors import LockbenchError
from bench.hazards.lab.lab import Lab
from bench.records.hazards import FaultWindow
from bench.systems.registry import SYSTEMS, System

pytestmark = pytest.mark.servers
SYSTEM_NAMES = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
WITHIN_S = 40.0
Told = Mapping[str, Any]


class Page:
    """Who presses the buttons."""

    def __init__(self, staging: Staging, faults: list[tuple[str, FaultWindow]]) -> None:
        self.staging, self.faults = staging, faults

    def press(self, system: str, what: str, seconds: float | None = None, **more: Any) -> None:
        self.staging.press({"system": system, "what": what, "seconds": seconds, "amount": None, **more})

    def until(self, system: str, what: Callable[[Told], object], within_s: float = WITHIN_S) -> Told:
        deadline = time.monotonic() + within_s
        while not what(told := self.staging.report()[system]):
            assert time.monotonic() < deadline, told
            time.sleep(0.05)
        return told

    def count(self, system: str, name: str, at_least: int = 1) -> Told:
        return self.until(system, lambda told: told["counts"].get(name, 0) >= at_least)

    def grants_go_on(self, system: str) -> None:
        so_far = self.staging.report()[system]["counts"].get("grants", 0)
        self.count(system, "grants", so_far + 2)


@pytest.fixture
def page(lab: Lab) -> Iterator[Page]:
    staged: dict[str, System] = {name: SYSTEMS[name] for name in SYSTEM_NAMES}
    faults: list[tuple[str, FaultWindow]] = []
    before = {one.pid for one in psutil.Process().children()}
    with Staging(lab, staged, lambda system, window: faults.append((system, window))) as staging:
        yield Page(staging, faults)
        staging.stop()
        for act in staging._acts.values():
            act.does.wait_stopped()
            assert not act.does.running
        assert lab.broken() == []
    assert not [one for one in psutil.Process().children() if one.pid not in before and "actor" in str(one.cmdline())]


def test_a_paused_holder_writes_late_and_only_a_fence_refuses_it(page: Page) -> None:
    page.press("redis", "start")
    page.press("redis", "pause", 4.0)
    told = page.until("redis", lambda told: told["holders_now"] == 2)
    assert told["fault_ends_in_s"] > 0
    page.press("redis", "pause", 1.0)
    told = page.count("redis", "stale_accepted")
    assert "refused, since another fault is in force" in " ".join(told["said"])
    assert told["counts"]["double_holds"] >= 1, "each grant of the other one while the first is stopped"
    assert "stale_refused" not in told["counts"]
    page.press("redis", "fence", on=True)
    page.press("redis", "pause", 4.0)  # waits for a turn with the fence
    told = page.count("redis", "stale_refused")
    assert told["counts"]["stale_accepted"] == 1
    assert [(system, one.kind) for system, one in page.faults] == [("redis", "pause"), ("redis", "pause")]
    assert all(one.ended_ns is not None and one.ended_ns - one.began_ns > 3.9e9 for _, one in page.faults)


@pytest.mark.parametrize(
    ("system", "buttons"),
    [
        ("redis", [name for name in BUTTONS if name not in ("pause", "stop-leader")]),
        ("etcd", ["stop-leader", "cut-off"]),
        ("zookeeper", ["restart-server"]),
        ("redlock", ["stop-node", "step-server-clock"]),
        ("postgres-row", ["step-server-clock"]),
        ("dynamodb", ["delay", "restart-server"]),
    ],
)
def test_each_fault_is_in_force_and_over_and_grants_go_on(page: Page, system: str, buttons: list[str]) -> None:
    spec = SYSTEMS[system].servers
    assert spec is not None
    for number, what in enumerate(buttons, 1):
        amount = buttons_of(spec)[what]["amount"]
        seconds = 1.0 if BUTTONS[what].seconds else None
        page.press(system, what, seconds, amount=None if amount is None else amount["proposed"])
        page.until(system, lambda _, number=number: len(page.faults) == number)
        told = page.staging.report()[system]
        kind, target, began_s, ended_s, _ = told["faults"][-1]
        assert kind == BUTTONS[what].fault
        assert target
        assert began_s - ended_s >= (seconds or 0.0) * 0.99
        assert any(line.startswith(f"{BUTTONS[what].title}: {target}") for line in told["said"]), told["said"]
        page.grants_go_on(system)
    assert [(name, one.kind) for name, one in page.faults] == [(system, BUTTONS[what].fault) for what in buttons]


def test_a_fault_is_ended_before_its_time(page: Page) -> None:
    page.press("redis", "pause", 60.0)
    page.until("redis", lambda told: told["fault_ends_in_s"])
    page.press("redis", "end")
    page.until("redis", lambda told: told["fault_ends_in_s"] is None, within_s=10)
    page.grants_go_on("redis")


def test_the_end_of_a_test_ends_faults_and_holders(page: Page) -> None:
    page.press("redis", "pause", 60.0)
    page.press("etcd", "stop-node", 60.0)
    for system in ("redis", "etcd"):
        page.until(system, lambda told: told["fault_ends_in_s"])
    page.staging.stop()
    for system in ("redis", "etcd"):
        told = page.until(system, lambda told: not told["running"])
        assert told["holders_now"] == 0
        assert all(fault[3] is not None for fault in told["faults"])
    page.press("redis", "start")
    page.count("redis", "grants", 2)


def test_a_postgres_row_stays_with_a_paused_holder(page: Page) -> None:
    page.press("postgres-row", "pause", 4.0)
    page.until("postgres-row", lambda told: told["faults"] and told["faults"][-1][3] is not None)
    page.grants_go_on("postgres-row")
    assert "double_holds" not in page.staging.report()["postgres-row"]["counts"]


@pytest.mark.parametrize("fence", [False, True])
def test_a_scenario_is_shown_while_it_is_played(page: Page, fence: bool) -> None:
    page.press("redis", "start")
    page.press("redis", "fence", on=fence)
    page.press("redis", "play", scenario="gc-pause")
    assert page.until("redis", lambda told: told["scenario"] and told["beliefs"])["running"]
    told = page.until("redis", lambda told: not told["running"])
    assert told["actors"] == ["holder", "contender"]
    assert told["counts"]["double_holds"] >= 1, "each grant of the other one while the first is stopped"
    assert told["counts"]["stale_refused" if fence else "stale_accepted"] == 1
    assert [kind for kind, *_ in told["faults"]] == ["pause"]
    assert told["said"][-1] == "over"


def test_a_scenario_that_is_broken_off_tells_its_fault(page: Page) -> None:
    page.press("redis", "play", scenario="page-scenario")
    page.until("redis", lambda told: told["faults"])
    page.press("redis", "stop")
    told = page.until("redis", lambda told: not told["running"])
    assert [(kind, ended is None) for kind, _, _, ended, _ in told["faults"]] == [("pause", False)]
    assert [(system, one.kind, one.ended_ns is None) for system, one in page.faults] == [("redis", "pause", False)]


def test_a_holder_that_dies_by_itself_believes_nothing_and_is_replaced(page: Page) -> None:
    page.press("redis", "start")
    page.count("redis", "grants", 2)
    act = page.staging._acts["redis"].does
    assert isinstance(act, Actors)
    page.until("redis", lambda told: any(one[0] == "A" and one[2] is None for one in told["beliefs"]))
    assert act._cast is not None
    os.kill(act._cast.actor("A").pid, signal.SIGKILL)
    beliefs = page.count("redis", "grants", 12)["beliefs"]
    page.until(
        "redis", lambda told: sum(one[0] == "A" for one in told["beliefs"]) > sum(one[0] == "A" for one in beliefs)
    )
    assert "double_holds" not in page.staging.report()["redis"]["counts"]


def test_who_comes_back_is_struck(page: Page) -> None:
    """Both are killed, and a pause waits for somebody who holds."""
    for what in ("kill", "kill"):
        page.press("redis", what)
        page.until("redis", lambda told: told["said"] and "refused" not in told["said"][-1])
    page.until("redis", lambda _: len(page.faults) == 2)
    page.press("redis", "pause", 0.5)
    page.until("redis", lambda _: [one.kind for _, one in page.faults] == ["kill", "kill", "pause"])


def test_nothing_is_done_to_servers_of_others(lab: Lab) -> None:
    with Staging(lab, {"redis": SYSTEMS["redis"]}) as staging:
        assert list(staging.about()["systems"]) == ["redis"]
        assert "your own" in staging.about()["why_not"]["etcd"]
        with pytest.raises(LockbenchError, match="lockbench does nothing to them"):
            staging.press({"system": "etcd", "what": "pause", "seconds": 1.0, "amount": None})
    with Staging(None, {}) as staging:
        assert staging.about()["systems"] == {}
        with pytest.raises(LockbenchError, match="lockbench does nothing to them"):
            staging.press({"system": "redis", "what": "start"})
