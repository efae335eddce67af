"""Faults of a set of servers as a whole: some of them gone or hanging, the leading one lost or stalled.

A server that is gone was killed (SIGKILL), one that hangs was stopped (SIGSTOP): the kernel goes on to accept
connections and to acknowledge bytes for it, and nothing answers. To a client the second is the worse.
"""

from collections.abc import Mapping
from typing import Any

from bench.hazards.faults.base import InForce, Scene
from bench.hazards.faults.targets import leader_last, nodes_of, servers_of
from bench.hazards.lab.servers import LabServers
from bench.hazards.scenario import ScenarioError
from bench.hazards.timeline import now_ns


def nodes(scene: Scene, _: str, arguments: Mapping[str, Any]) -> InForce:
    """Stop `nodes` servers. Argument `how`: `kill`, or `hang`. Of a cluster the leader is the last to go: what is
    tested is how many are needed, and not how an election goes."""
    servers, count, how = servers_of(scene), int(arguments["nodes"]), str(arguments["how"])
    if how not in ("kill", "hang"):
        raise ScenarioError(f"nodes are stopped by kill or by hang, not by {how}")
    names = leader_last(servers)[:count]
    if not names:
        return InForce(now_ns(), "no server was to be stopped", None, 0.0, "nodes")
    windows = [servers.kill(name) if how == "kill" else servers.pause(name) for name in names]
    confirmed = "; ".join(window.confirmed for window in windows)

    def over() -> int:
        if how == "kill":
            return max(window.ended_ns or 0 for window in servers.start(*names))
        return _resumed(servers, *names)

    return InForce(windows[-1].began_ns, confirmed, over, float(count), "nodes", ", ".join(names))


def server_stall(scene: Scene, target: str, arguments: Mapping[str, Any]) -> InForce:
    """Stop a server where it stands, as a long collection, a full disk or a frozen machine would, until the end.

    The end waits until all servers serve together again; its instant is that at which this one went on.
    """
    servers = servers_of(scene)
    names = nodes_of(servers, target, arguments)
    windows = [servers.pause(name) for name in names]
    confirmed = "; ".join(window.confirmed for window in windows)
    return InForce(windows[-1].began_ns, confirmed, lambda: _resumed(servers, *names), target=", ".join(names))


def replication_cut(scene: Scene, _: str, __: Mapping[str, Any]) -> InForce:
    """Give the server a replica, and pull the cable between the two once they are in step: what is granted from now on
    is in the primary alone, which is how any grant is for the moment before it is replicated."""
    servers = servers_of(scene)
    replica = servers.replicate()
    window = replica.cut()

    def over() -> int:
        if servers.replica is replica:
            servers.mend()
        return now_ns()

    return InForce(window.began_ns, window.confirmed, over, target=window.target)


def failover(scene: Scene, _: str, __: Mapping[str, Any]) -> InForce:
    """Kill the server that decides; in force once another one does.

    In a cluster that elects, the others see to that. A server alone has no others: its replica is promoted, and the
    address of the service, which is a proxy's of each client, moves to it. The time that this took is the measure
    `failover_ms`. The end makes the servers as they were before.
    """
    servers = servers_of(scene)
    if servers.spec.elects:
        return _elected(scene, servers)
    replica = servers.replica
    if replica is None:
        replica = servers.replicate()  # and in step: all that was granted so far is replicated
    killed = servers.kill(replica.primary.name)
    promoted = replica.promote()
    _move(scene, replica.endpoint.addresses[0])
    began_ns = now_ns()
    scene.measures["failover_ms"] = (began_ns - killed.began_ns) / 1e6

    def over() -> int:
        _move(scene, servers.address(killed.target))
        servers.mend()
        return now_ns()

    return InForce(began_ns, f"{killed.confirmed}; {promoted.confirmed}", over, target=killed.target)


def _elected(scene: Scene, servers: LabServers) -> InForce:
    killed = servers.kill(servers.leader())
    successor = servers.leader()
    began_ns = now_ns()
    scene.measures["failover_ms"] = (began_ns - killed.began_ns) / 1e6

    def over() -> int:
        return max(window.ended_ns or 0 for window in servers.start(killed.target))

    return InForce(began_ns, f"{killed.confirmed}; {successor} leads", over, target=killed.target)


def _move(scene: Scene, address: tuple[str, int]) -> None:
    for proxies in scene.cast.all_proxies():
        proxies[0].redirect(address)


def _resumed(servers: LabServers, *names: str) -> int:
    """Let paused servers go on, and wait until the set is in step. The instant from which the first could run."""
    ended_ns = [servers.resume(name).ended_ns or 0 for name in names]
    servers.settled()
    return min(ended_ns)
