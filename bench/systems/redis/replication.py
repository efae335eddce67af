"""A replica of a redis-server: started, attached, watched until it is in step, and promoted.

Redis answers a write before its replica has it: a primary that dies in between takes acknowledged writes with it
(Redis documentation, "Redis replication"; "Distributed locks with Redis", section "Why failover-based implementations
are not enough").
"""

from dataclasses import dataclass

from redis.exceptions import RedisError

from bench.servers.spec import Node, NotReady, ServerSpec
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import ask, parse_info

_SYNC_DELAY = "repl-diskless-sync-delay"


@dataclass(frozen=True, slots=True)
class Replicas:
    """How a redis-server gets one."""

    spec: ServerSpec  # of the replica, a set of one

    def follow(self, replica: Node, primary: Node, through: tuple[str, int]) -> None:
        """Make `replica` copy `primary`, which it reaches at the address `through`. Raises NotReady.

        The primary shall not gather replicas for five seconds before it sends its first copy, which is its default.
        """
        _ask(primary, "CONFIG", "SET", _SYNC_DELAY, "0")
        _ask(replica, "REPLICAOF", through[0], str(through[1]))

    def in_step(self, replica: Node, primary: Node) -> int:
        """The replication offset up to which both have everything; NotReady while the replica is behind."""
        wanted = int(_replication(primary)["master_repl_offset"])
        state = _replication(replica)
        if state.get("master_link_status") != "up":
            raise NotReady(f"{replica.name} has no link to {primary.name}: {state.get('master_link_status')}")
        if (offset := int(state["slave_repl_offset"])) < wanted:
            raise NotReady(f"{replica.name} is at {offset}, {primary.name} at {wanted}")
        return offset

    def promote(self, replica: Node) -> int:
        """Make the replica a primary; return the offset it had come to. Raises NotReady unless it says that it is."""
        offset = int(_replication(replica)["slave_repl_offset"])
        _ask(replica, "REPLICAOF", "NO", "ONE")
        if (role := _replication(replica)["role"]) != "master":
            raise NotReady(f"{replica.name} is still {role}")
        return offset

    def forget_replicas(self, primary: Node) -> None:
        """Undo what `follow` set at the primary."""
        _ask(primary, "CONFIG", "SET", _SYNC_DELAY, "5")


def _replication(node: Node) -> dict[str, str]:
    return parse_info(_ask(node, "INFO", "replication"))


def _ask(node: Node, *words: str) -> bytes:
    try:
        (reply,) = ask(node.host, node.port, command(*words))
    except RedisError as failure:
        raise NotReady(f"{node.name} at {node.host}:{node.port} to {words[0]}: {failure}") from failure
    assert isinstance(reply, bytes)
    return reply
