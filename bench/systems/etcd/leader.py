"""Which member of a cluster leads, asked of the members themselves."""

from collections.abc import Sequence

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Node, NotReady
from bench.systems.etcd.gateway import Gateway, NoAnswer, Status

_ANSWER_WITHIN_S = 2.0


def find(nodes: Sequence[Node], quorum: int) -> str:
    """The member that a majority names. One alone proves nothing: a leader that was cut off still names itself."""
    statuses: dict[str, Status] = {}
    for node in nodes:
        try:
            statuses[node.name] = Gateway(Endpoint(((node.host, node.port),)), _ANSWER_WITHIN_S).status()
        except NoAnswer:
            continue
    for name, status in statuses.items():
        votes = sum(other.leader_id == status.member_id for other in statuses.values())
        if status.leader_id == status.member_id and votes >= quorum:
            return name
    raise NotReady(f"no leader that {quorum} members name: {statuses}")
