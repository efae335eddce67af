"""Which server of an ensemble leads, asked of the servers themselves."""

from collections.abc import Sequence

from bench.servers.spec import Node, NotReady
from bench.systems.zookeeper import four_letter

_ANSWER_WITHIN_S = 2.0


def find(nodes: Sequence[Node], quorum: int) -> str:
    """The server in the state of a leader, where enough others follow: one that lost its followers notices it late."""
    modes: dict[str, str] = {}
    for node in nodes:
        try:
            state = four_letter.fields(four_letter.ask(node.host, node.port, "srvr", _ANSWER_WITHIN_S))
        except (OSError, four_letter.Unanswered):
            continue
        modes[node.name] = state.get("Mode", "")
    leaders = [name for name, mode in modes.items() if mode == "leader"]
    followers = sum(mode == "follower" for mode in modes.values())
    if len(leaders) != 1 or followers < quorum - 1:
        raise NotReady(f"no leader with {quorum - 1} followers: {modes}")
    return leaders[0]
