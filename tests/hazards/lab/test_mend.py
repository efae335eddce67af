"""`broken` sees what is amiss, and `mend` makes it as it was."""

import time
from collections.abc import Callable

import pytest

from bench.hazards.lab.lab import Lab
from bench.hazards.lab.servers import LabServers
from tests.hazards.lab.clients import token_of

pytestmark = pytest.mark.servers
Take = Callable[[str], LabServers]


def test_dead_and_stopped_nodes_are_seen_and_mended(lab: Lab, servers_of: Take) -> None:
    etcd, redlock = servers_of("etcd"), servers_of("redlock")
    etcd.kill("etcd-1")
    etcd.kill("etcd-2")
    etcd.pause("etcd-3")
    redlock.pause("redlock-2")
    redlock.kill("redlock-5")
    assert lab.broken() == [
        "redlock-2 is stopped (state T)",
        "redlock-5 does not run",
        "etcd-1 does not run",
        "etcd-2 does not run",
        "etcd-3 is stopped (state T)",
    ]
    lab.mend()
    assert lab.broken() == []
    assert token_of("etcd", etcd.endpoint, "k") > 0


def test_a_server_without_persistence_is_mended_too(servers_of: Take) -> None:
    dynamodb = servers_of("dynamodb")
    dynamodb.kill("dynamodb")
    assert dynamodb.broken() == ["dynamodb does not run"]
    dynamodb.mend()
    assert dynamodb.broken() == []


def test_another_server_in_a_nodes_place_is_seen(servers_of: Take) -> None:
    """Restarted behind the lab's back, on the same port and folder: it serves, and it is not who was recorded."""
    servers = servers_of("redis")
    recorded = servers.state("redis").identity
    servers.kill("redis")
    starting = servers._supervisor.launch_again(servers.spec, ["redis"])
    servers.settled()
    assert starting.processes[0].pid == servers.pid("redis")
    give_up = time.monotonic() + 20.0
    while "does not prove itself" in (found := servers.broken())[0]:
        assert time.monotonic() < give_up
    assert found[0].startswith(f"redis is recorded as {recorded}, and is ")
    servers.kill("redis")


def test_what_else_is_to_be_mended_is_done_once_even_if_something_fails(servers_of: Take) -> None:
    servers = servers_of("redis")
    done: list[str] = []

    def fail() -> None:
        raise RuntimeError("the clock would not go back")

    servers.on_mend += [lambda: done.append("first"), fail, lambda: done.append("last")]
    servers.kill("redis")
    assert servers.broken() == ["redis: 3 more to mend", "redis does not run"]
    with pytest.raises(RuntimeError, match="the clock would not go back"):
        servers.mend()
    assert sorted(done) == ["first", "last"]
    assert servers.broken() == []
    servers.mend()
    assert len(done) == 2


def test_the_names_there_are(lab: Lab) -> None:
    with pytest.raises(ValueError, match="the lab has no servers 'mysql': it has redis, "):
        lab.servers("mysql")
