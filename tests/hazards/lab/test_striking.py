"""Faults of a run of load, on the lab's servers: confirmed, and undone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.campaign.faults.holder import NoHolder
from bench.campaign.faults.striking import Striking
from bench.hazards.lab.servers import LabServers
from bench.load.options import key_name
from bench.records.schema import RunPlan
from bench.records.workload import Workload
from bench.servers.process import ProcessId
from bench.systems.base import ClientOptions, Grant, Refusal
from bench.systems.registry import system
from bench.systems.wait import Wait

ServersOf = Callable[[str], LabServers]


def plan(name: str, fault: str, timeout_ms: int = 5_000) -> RunPlan:
    workload = Workload(
        name="contended",
        clients=8,
        keys=1,
        ttl_ms=1_000,
        timeout_ms=timeout_ms,
        wait=system(name).default_wait,
        fault=fault,
        fault_s=0.1,
    )
    return RunPlan(campaign_id="c", run_id="r", position=0, system=name, workload=workload, repetition=1, seed=271)


@pytest.mark.parametrize(("fault", "count"), [("minority-stopped", 2), ("majority-stopped", 3)])
def test_servers_are_stopped_and_continue(servers_of: ServersOf, tmp_path: Path, fault: str, count: int) -> None:
    servers = servers_of("redlock")
    with Striking(plan("redlock", fault), servers, tmp_path / "log.txt") as striking:
        striking.begin()
        assert sum("(state T)" in line for line in servers.broken()) == count
        striking.end()
        assert servers.broken() == []
        found = striking.struck(7)
    assert [one.target for one in found] == list(servers.node_names[:count])
    assert all(one.kind == fault and one.window_opens_ns == 7 and one.ended_ns is not None for one in found)
    assert all(one.began_ns < (one.ended_ns or 0) for one in found)


def test_a_server_that_was_killed_serves_again(servers_of: ServersOf, tmp_path: Path) -> None:
    servers = servers_of("redis")
    before = ProcessId.of(servers.pid(servers.node_names[0]))
    with Striking(plan("redis", "leader-killed"), servers, tmp_path / "log.txt") as striking:
        striking.begin()
        assert before is not None
        assert not before.alive()
        striking.end()
        (one,) = striking.struck(0)
    assert servers.broken() == []
    assert one.ended_ns is not None
    assert one.began_ns < one.ended_ns


def test_a_holder_is_killed_while_it_holds(servers_of: ServersOf, tmp_path: Path) -> None:
    servers, name = servers_of("redis"), "redis"
    entry = system(name)
    with Striking(plan(name, "holder-killed"), servers, tmp_path / "log.txt") as striking:
        striking.begin()
        (one,) = striking.struck(0)
        with entry.client_class.open(servers.endpoint, ClientOptions(variant=entry.client_variant)) as client:
            key = key_name(271, 0)
            now = client.acquire(key, 1_000, 0, Wait.parse("try"))
            assert isinstance(now, Refusal)
            assert now.outcome == "busy", "its lease is left behind"
            later = client.acquire(key, 1_000, 5_000, Wait.parse(entry.default_wait))
            assert isinstance(later, Grant)
            client.release(later)
        striking.end()
    assert (one.target, one.ended_ns) == ("a holder", None)


def test_a_holder_that_never_gets_the_key_tests_nothing(servers_of: ServersOf, tmp_path: Path) -> None:
    servers, entry = servers_of("redis"), system("redis")
    with entry.client_class.open(servers.endpoint, ClientOptions(variant=entry.client_variant)) as client:
        held = client.acquire(key_name(271, 0), 10_000, 5_000, Wait.parse(entry.default_wait))
        assert isinstance(held, Grant)
        with (
            Striking(plan("redis", "holder-killed", timeout_ms=50), servers, tmp_path / "log.txt") as striking,
            pytest.raises(NoHolder, match="never got the key: timeout"),
        ):
            striking.begin()
        client.release(held)
