"""Which server of a set decides, asked of the servers themselves."""

from collections.abc import Callable, Mapping, Sequence

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Node, NotReady
from bench.systems.etcd.gateway import Gateway, NoAnswer, Status
from bench.systems.zookeeper import four_letter

_ANSWER_WITHIN_S = 2.0
Find = Callable[[Sequence[Node], int], str]


def _of_etcd(nodes: Sequence[Node], quorum: int) -> str:
    """The member that a majority names. One alone proves nothing: a leader that was cut off still names itself."""
    told: dict[str, Status] = {}
    for node in nodes:
        try:
            told[node.name] = Gateway(Endpoint(((node.host, node.port),)), _ANSWER_WITHIN_S).status()
        except NoAnswer:
            continue
    for name, status in told.items():
        votes = sum(other.leader_id == status.member_id for other in told.values())
        if status.leader_id == status.member_id and votes >= quorum:
            return name
    raise NotReady(f"no leader that {quorum} members name: {told}")


def _of_zookeeper(nodes: Sequence[Node], quorum: int) -> str:
    """The server in the state of a leader, where enough others follow: one that lost its followers notices it late."""
    modes: dict[str, str] = {}
    for node in nodes:
        try:
            told = four_letter.fields(four_letter.ask(node.host, node.port, "srvr", _ANSWER_WITHIN_S))
        except (OSError, four_letter.Unanswered):
            continue
        modes[node.name] = told.get("Mode", "")
    leaders = [name for name, mode in modes.items() if mode == "leader"]
    followers = sum(mode == "follower" for mode in modes.values())
    if len(leaders) != 1 or followers < quorum - 1:
        raise NotReady(f"no leader with {quorum - 1} followers: {modes}")
    return leaders[0]


# Sets that need a majority of their nodes, and how to ask them who leads.
CLUSTERS: Mapping[str, Find] = {"etcd": _of_etcd, "zookeeper": _of_zookeeper}


def quorum_of(set_name: str, nodes: int) -> int:
    """How many nodes must run for any of them to serve."""
    return nodes // 2 + 1 if set_name in CLUSTERS else 1
