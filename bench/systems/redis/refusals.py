"""What a Redis server refuses, in its own word, with the cause in plain ones.

redis-py makes some error replies (LOADING, NOAUTH, WRONGPASS, too many clients) connection errors. Here none is one: a
server that answers with an error has carried nothing out, while after a lost connection nobody knows.
"""

from collections.abc import Mapping

from redis.exceptions import ResponseError

from bench.systems.base import Outcome

_CLUSTER = "this is a node of a Redis Cluster, where each key has a node of its own: use a server that is no cluster"
_REPLICA = "this server is a replica, which takes no writes: use its primary"
CAUSES: Mapping[str, str] = {
    "NOPERM": "this user lacks the right to do that: ask for it with ACL SETUSER",
    "NOAUTH": "the server wants a password, and none was given",
    "WRONGPASS": "user and password do not match, or the user is disabled",
    "DENIED": "the server is in protected mode and answers its own machine only",
    "MOVED": _CLUSTER,
    "ASK": _CLUSTER,
    "CROSSSLOT": _CLUSTER,
    "CLUSTERDOWN": _CLUSTER,
    "TRYAGAIN": _CLUSTER,
    "READONLY": _REPLICA,
    "MASTERDOWN": "this server is a replica without a link to its primary",
    "NOREPLICAS": "fewer replicas are in step than min-replicas-to-write asks for",
    "LOADING": "the server is still loading its data",
    "BUSY": "a script or function occupies the server",
    "OOM": "the server has reached maxmemory",
    "MISCONF": "the server cannot save to its disk, and takes no writes until it can",
    "WRONGTYPE": "another program's value stands under this lock's name",
}


class ErrorReply(ResponseError):
    """A server's answer that it did not do what was asked. `word` is its first, which says of what kind it is."""

    def __init__(self, text: str) -> None:
        self.word = text.partition(" ")[0]
        cause = CAUSES.get(self.word)
        super().__init__(f"{text.strip()} ({cause})" if cause else text.strip())


def said_or_lost(failure: Exception) -> Outcome:
    """What the server refused was not done; what broke off may have been."""
    return Outcome.ERROR if isinstance(failure, ErrorReply) else Outcome.UNKNOWN
