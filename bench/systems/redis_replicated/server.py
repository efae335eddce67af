"""A redis-server and its replica, which follows it from the start."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Node, NotReady, Replication
from bench.systems.identity import seen_by
from bench.systems.redis.replication import Replicas, in_step
from bench.systems.redis.server import RedisServers, ReplicaServers
from bench.systems.redis_replicated.lock import ReplicatedRedisLock


class PairServers(RedisServers):
    """Two redis-servers: the primary, which clients use, and a replica in step with it. Nobody promotes it here."""

    name: ClassVar[str] = "redispair"
    title: ClassVar[str] = "Redis and its replica"
    node_names: ClassVar[tuple[str, ...]] = ("redis-pair-primary", "redis-pair-replica")
    peer_port_names: ClassVar[tuple[str, ...]] = ("client",)  # a replica is one more client of its primary
    compose_services: ClassVar[tuple[str, ...]] = node_names

    def _role(self, node: Node, nodes: Sequence[Node]) -> Mapping[str, str]:
        primary = nodes[0]
        return {} if node is primary else {"replicaof": f"{primary.reached_at} {primary.port}"}

    def called_at(self, node: Node) -> tuple[str, int] | None:
        """The replica calls once it is started, and again only after a second."""
        return (node.host, node.port) if node.name == self.node_names[0] else None

    def replication(self) -> Replication | None:
        return Replicas(SecondReplicaServers())

    def settle(self, nodes: Sequence[Node]) -> None:
        if len(nodes) == len(self.node_names):
            primary, replica = nodes
            in_step(replica, primary)

    def leader(self, nodes: Sequence[Node]) -> str:
        names = {node.name for node in nodes}
        if self.node_names[0] not in names:
            raise NotReady(f"{self.node_names[0]} is gone, and nobody promotes its replica")
        return self.node_names[0]

    def identify(self, endpoint: Endpoint) -> str:
        return seen_by(ReplicatedRedisLock, endpoint)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        return super().endpoint(nodes[:1])


class SecondReplicaServers(ReplicaServers):
    """One more replica of the primary, which nobody waits for: a failover may promote it."""

    name: ClassVar[str] = "redispair-second"
    title: ClassVar[str] = "Redis, a second replica"
    node_names: ClassVar[tuple[str, ...]] = ("redis-pair-second",)
