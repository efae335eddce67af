"""Servers killed and started again: what they had on disk is there, what they had not is gone, clients find them."""

from collections.abc import Callable

import psutil
import pytest

from bench.hazards.lab.lab import Lab
from bench.hazards.lab.servers import LabServers, ServerDown
from bench.servers.running.supervisor import ServersError
from tests.hazards.lab.clients import client, grant_of, is_free, restart, token_of

pytestmark = pytest.mark.servers
Take = Callable[[str], LabServers]


@pytest.mark.parametrize("system", ["redis-aof", "etcd", "zookeeper", "postgres-row"])
def test_what_was_written_is_there_after_a_kill(servers_of: Take, system: str) -> None:
    servers = servers_of(system)
    endpoint = servers.endpoint
    before = [token_of(system, endpoint, "kept") for _ in range(3)][-1]
    restart(servers, *servers.node_names)
    assert servers.endpoint == endpoint, "clients would look for the servers elsewhere"
    assert token_of(system, endpoint, "kept") > before


@pytest.mark.parametrize(
    ("system", "keep_data"), [("redis", True), ("redis-aof", False), ("zookeeper", False), ("dynamodb", False)]
)
def test_what_is_on_no_disk_is_gone_after_a_kill(servers_of: Take, system: str, keep_data: bool) -> None:
    servers = servers_of(system)
    first, *_, before = [token_of(system, servers.endpoint, f"gone-{keep_data}") for _ in range(3)]
    restart(servers, *servers.node_names, keep_data=keep_data)
    again = token_of(system, servers.endpoint, f"gone-{keep_data}")
    assert again < before
    if system != "zookeeper":  # whose tokens count all transactions, opened sessions too
        assert again == first == 1


@pytest.mark.parametrize("system", ["redlock", "redlock-aof"])
def test_three_restarted_nodes_of_five_give_a_second_holder_unless_they_are_durable(
    servers_of: Take, system: str
) -> None:
    servers = servers_of(system)
    with client(system, servers.endpoint) as holder:
        grant_of(holder, f"both-{system}")
        assert not is_free(system, servers.endpoint, f"both-{system}")
        restart(servers, *servers.node_names[:3])
        assert is_free(system, servers.endpoint, f"both-{system}") == (system == "redlock")


def test_a_kill_takes_every_session_and_says_when(servers_of: Take) -> None:
    servers = servers_of("postgres-row")
    with client("postgres-row", servers.endpoint) as holder:
        grant_of(holder, "k")
        root = psutil.Process(servers.pid("postgres"))
        processes = [root, *root.children(recursive=True)]
        assert len(processes) > 5, "a session's own process is among them"
        killed = servers.kill("postgres")
        assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
    assert killed.ended_ns is None
    assert all(str(process.pid) in killed.confirmed for process in processes)
    (restarted,) = servers.start("postgres")
    assert restarted.kind == "restart"
    assert restarted.target == "postgres"
    assert restarted.ended_ns is not None
    assert killed.began_ns == restarted.began_ns < restarted.ended_ns
    assert servers.state("postgres").identity in restarted.confirmed
    assert is_free("postgres-row", servers.endpoint, "k")


def test_the_records_tell_who_serves_after_a_restart(lab: Lab, servers_of: Take) -> None:
    servers = servers_of("redis")
    pid, identity = servers.pid("redis"), servers.state("redis").identity
    restart(servers, "redis")
    (line,) = lab.supervisor.status([servers.spec])
    assert line.problem is None
    assert (line.pid, line.identity) == (servers.pid("redis"), servers.state("redis").identity)
    assert line.pid != pid
    assert line.identity != identity


def test_what_cannot_be_started_is_refused_before_anything_is_done(servers_of: Take) -> None:
    with pytest.raises(ValueError, match="removed and added"):
        servers_of("etcd").start("etcd-1", keep_data=False)
    with pytest.raises(ValueError, match="another database"):
        servers_of("postgres-row").start("postgres", keep_data=False)
    with pytest.raises(ValueError, match="everything in memory"):
        servers_of("dynamodb").start("dynamodb")
    with pytest.raises(ServersError, match="redis still runs"):
        servers_of("redis").start("redis")
    with pytest.raises(ValueError, match="has no node 'redis-9'"):
        servers_of("redis").kill("redis-9")
    etcd = servers_of("etcd")
    for node in etcd.node_names:
        etcd.kill(node)
    with pytest.raises(ServerDown, match="does not run"):
        etcd.pause("etcd-1")
    with pytest.raises(ValueError, match="with 2 nodes or more: start them together"):
        etcd.start("etcd-1")
