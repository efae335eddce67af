"""Which cluster a member belongs to, known before it runs, so that a wrong server behind its port is noticed."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Self

from bench.servers.spec import Node

_FILE_NAME = "etcd-topology.json"


@dataclass(frozen=True, slots=True)
class Topology:
    """One member's place in a cluster. `token` is drawn anew for each cluster; both ids follow from it."""

    peers: str
    token: str
    cluster_id: int
    member_id: int

    @classmethod
    def lay_out(cls, nodes: Sequence[Node]) -> tuple[Self, ...]:
        """One for each node, written beside its data. The same cluster as before where the first node's folder has one
        with the same peers, so that kept data is used again; otherwise a new one.
        """
        peers = ",".join(f"{node.name}={peer_url(node)}" for node in nodes)
        kept = cls.of(nodes[0])
        token = kept.token if kept is not None and kept.peers == peers else f"lockbench-{uuid.uuid4().hex}"
        members = [member_id(peer_url(node), token) for node in nodes]
        topologies = tuple(cls(peers, token, cluster_id(members), member) for member in members)
        for node, topology in zip(nodes, topologies, strict=True):
            (node.directory / _FILE_NAME).write_text(json.dumps(asdict(topology), indent=1) + "\n", encoding="utf-8")
        return topologies

    @classmethod
    def of(cls, node: Node) -> Self | None:
        """What `lay_out` wrote for this node; None for a container or a foreign server."""
        try:
            fields: Mapping[str, str | int] = json.loads((node.directory / _FILE_NAME).read_text(encoding="utf-8"))
            return cls(**fields)  # type: ignore[arg-type]
        except (OSError, ValueError, TypeError):
            return None


def peer_url(node: Node) -> str:
    """Where the other members reach this one."""
    return f"http://{node.reached_at}:{node.ports['peer']}"


def member_id(url: str, token: str) -> int:
    """The id that etcd gives a first member: from its peer URL and the cluster's token (membership/member.go)."""
    return _first_eight((url + token).encode())


def cluster_id(members: Sequence[int]) -> int:
    """The id that etcd gives a new cluster: from its members' ids in order (membership/cluster.go, genID)."""
    return _first_eight(b"".join(member.to_bytes(8, "big") for member in sorted(members)))


def _first_eight(content: bytes) -> int:
    return int.from_bytes(hashlib.sha1(content, usedforsecurity=False).digest()[:8], "big")
