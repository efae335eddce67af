"""The leader of a cluster, killed: another leads, clients are served, and the old one comes back as a follower."""

from collections.abc import Callable

import pytest

from bench.hazards.lab.servers import LabServers
from tests.hazards.lab.clients import token_of

pytestmark = pytest.mark.servers
Take = Callable[[str], LabServers]


@pytest.mark.parametrize("system", ["etcd", "zookeeper"])
def test_a_killed_leader_is_replaced(servers_of: Take, system: str) -> None:
    servers = servers_of(system)
    before = token_of(system, servers.endpoint, "led")
    leader = servers.leader()
    servers.kill(leader)
    successor = servers.leader()
    assert successor in set(servers.node_names) - {leader}
    assert f"{leader} does not run" in servers.broken()
    assert token_of(system, servers.endpoint, "led") > before
    (window,) = servers.start(leader)
    assert window.target == leader
    assert servers.broken() == []
    assert servers.leader() == successor


def test_sets_without_an_election(servers_of: Take) -> None:
    assert servers_of("redis").leader() == "redis"
    assert servers_of("postgres-row").leader() == "postgres"
    with pytest.raises(ValueError, match="know nothing of each other"):
        servers_of("redlock").leader()
