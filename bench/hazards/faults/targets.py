"""Which servers a fault strikes, as scenarios name them."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.hazards.faults.base import Scene
from bench.hazards.lab.servers import LabServers
from bench.hazards.scenario import ScenarioError


def servers_of(scene: Scene) -> LabServers:
    """The servers of the trial's system. Raises ScenarioError where it has none."""
    if scene.servers is None:
        raise ScenarioError(f"{scene.values['system']} has no servers that a fault could strike")
    return scene.servers


def nodes_of(servers: LabServers, target: str, arguments: Mapping[str, Any]) -> Sequence[str]:
    """Nodes by name. `target` is `all`, `leader`, `follower` (the first that is not the leader), or a node's name;
    instead of it, the argument `nodes` is the number of them, the first ones in node order, or `last_nodes` the last
    ones."""
    if "nodes" in arguments:
        return servers.node_names[: int(arguments["nodes"])]
    if "last_nodes" in arguments:
        return servers.node_names[len(servers.node_names) - int(arguments["last_nodes"]) :]
    if target == "all":
        return servers.node_names
    if target == "leader":
        return (servers.leader(),)
    if target == "follower":
        leader = servers.leader()
        return tuple(name for name in servers.node_names if name != leader)[:1]
    return (servers.state(target).node.name,)


def leader_last(servers: LabServers) -> Sequence[str]:
    """All nodes, the one that decides at the end: so that the first so many of them go without an election."""
    if not servers.spec.elects:
        return servers.node_names
    leader = servers.leader()
    return (*(name for name in servers.node_names if name != leader), leader)
