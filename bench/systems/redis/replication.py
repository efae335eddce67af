"""A replica of a redis-server: started, attached, watched until it is in step, and promoted.

Redis answers a write before its replica has it: a primary that dies in between takes acknowledged writes with it
(Redis documentation, "Redis replication"; "Distributed locks with Redis", section "Why failover-based implementations
are not enough").
"""

from dataclasses import dataclass
from typing import Any, Final

from redis.exceptions import RedisError

from bench.servers.spec import Node, NotReady, ServerSpec
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import ask, parse_info

_SET: Final = command("SET", "lockbench:in-step", "")  # a write, for WAIT to wait for
_HEARD_WITHIN_MS: Final = "100"


@dataclass(frozen=True, slots=True)
class Replicas:
    """How a redis-server gets one."""

    spec: ServerSpec  # of the replica, a set of one

    def follow(self, replica: Node, primary: tuple[str, int]) -> None:
        """Make `replica` copy the server that it reaches at the address `primary`. Raises NotReady."""
        _ask(replica, command("REPLICAOF", primary[0], str(primary[1])))

    def in_step(self, replica: Node, primary: Node) -> int:
        return in_step(replica, primary)

    def promote(self, replica: Node) -> int:
        """Make the replica a primary; return the offset it had come to. Raises NotReady unless it says that it is."""
        offset = int(_replication(replica)["slave_repl_offset"])
        _ask(replica, command("REPLICAOF", "NO", "ONE"))
        if (role := _replication(replica)["role"]) != "master":
            raise NotReady(f"{replica.name} is still {role}")
        return offset


def in_step(replica: Node, primary: Node) -> int:
    """The replication offset up to which both have everything; NotReady while the replica is behind.

    Also while the primary has heard of no write from it: up to a second after a first copy, in which WAIT waits in vain
    for a replica that is in step by its own account.
    """
    replicas = _replication(primary)["connected_slaves"]
    if replicas == "0" or _ask(primary, _SET, command("WAIT", replicas, _HEARD_WITHIN_MS))[1] < int(replicas):
        raise NotReady(f"{primary.name} has not heard of all its {replicas} replicas")
    wanted = int(_replication(primary)["master_repl_offset"])
    state = _replication(replica)
    if state.get("master_link_status") != "up":
        raise NotReady(f"{replica.name} has no link to {primary.name}: {state.get('master_link_status')}")
    if (offset := int(state["slave_repl_offset"])) < wanted:
        raise NotReady(f"{replica.name} is at {offset}, {primary.name} at {wanted}")
    return offset


def _replication(node: Node) -> dict[str, str]:
    return parse_info(_ask(node, command("INFO", "replication"))[0])


def _ask(node: Node, *packed: bytes) -> list[Any]:
    try:
        return ask(node.host, node.port, *packed)
    except RedisError as failure:
        raise NotReady(f"{node.name} at {node.host}:{node.port}: {failure}") from failure
