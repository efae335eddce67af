"""Redis' failover: what was written before the cut is at the replica, what was written after it is lost."""

from collections.abc import Callable

import pytest

from bench.hazards.lab.lab import Lab
from bench.hazards.lab.servers import LabServers
from bench.servers.running.supervisor import NotRunning
from bench.systems.redis.server import ReplicaServers
from tests.hazards.lab.clients import client, grant_of, is_free
from tests.processes import running_in

pytestmark = pytest.mark.servers
Take = Callable[[str], LabServers]


def test_a_promoted_replica_has_what_was_before_the_cut_and_nothing_after_it(lab: Lab, servers_of: Take) -> None:
    servers = servers_of("redis")
    replica = servers.replicate()
    folder = lab.supervisor.running(ReplicaServers()).nodes[0].folder
    assert servers.broken() == ["redis-replica is still there"]
    with client("redis", servers.endpoint) as holder:
        grant_of(holder, "before")
        cut = replica.cut()
        grant_of(holder, "after")
        killed = servers.kill("redis")
        promoted = replica.promote()
    assert cut.began_ns < killed.began_ns < promoted.began_ns
    assert (cut.kind, promoted.kind, promoted.target) == ("partition", "failover", "redis-replica")
    assert not is_free("redis", replica.endpoint, "before")
    assert is_free("redis", replica.endpoint, "after"), "the replica knows what was never replicated"
    servers.mend()
    assert not running_in(folder)
    with pytest.raises(NotRunning):
        lab.supervisor.running(ReplicaServers())
    assert servers.broken() == []


def test_a_replica_is_as_durable_as_its_primary_and_can_be_had_again(servers_of: Take) -> None:
    servers = servers_of("redis-aof")
    for _ in range(2):
        replica = servers.replicate()
        with client("redis-aof", replica.endpoint) as one:
            assert one.server_facts().durability == {"appendonly": "yes", "appendfsync": "always", "save": ""}
        with pytest.raises(ValueError, match="there is a replica already"):
            servers.replicate()
        servers.mend()


def test_others_follow_the_promoted_one_and_come_back(servers_of: Take) -> None:
    """What one replica acknowledged is lost all the same when another is promoted (redis.io/commands/wait)."""
    servers = servers_of("redis-replicated")
    replica = servers.replicate()
    with client("redis-replicated", servers.endpoint) as holder:
        grant_of(holder, "before")
        replica.cut()
        grant_of(holder, "after")  # the set's own replica has it
        servers.kill(replica.primary.name)
        replica.promote()
    assert not is_free("redis-replicated", replica.endpoint, "before")
    assert is_free("redis-replicated", replica.endpoint, "after"), "and its own replica acknowledges it"
    servers.mend()
    assert servers.broken() == []
    with client("redis-replicated", servers.endpoint) as again:
        grant_of(again, "mended")


def test_etcd_has_none(servers_of: Take) -> None:
    with pytest.raises(ValueError, match="etcd has no replica in this lab"):
        servers_of("etcd").replicate()
