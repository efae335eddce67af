"""What an operator can do to one lock's nodes, past the adapter."""

from kazoo.exceptions import KazooException, NoNodeError

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.zookeeper.names import parent_path
from bench.systems.zookeeper.session import Session

_WITHIN_MS = 10_000


def erase(endpoint: Endpoint, key: str) -> str:
    """Delete the node under which the key's contenders queue, as a clean-up script does, and ZooKeeper itself does with
    an empty container node. The next contender makes it anew. Raises ConnectionError.
    """
    session = Session(endpoint, ClientOptions(ttl_ms=_WITHIN_MS, call_timeout_ms=_WITHIN_MS))
    path = parent_path(session.root, key)
    session.open()
    try:
        children = session.ask(lambda: session.kazoo.get_children_async(path))
        # Not with what may be in it: a contender's node is that contender's, and an operator who looks waits.
        session.ask(lambda: session.kazoo.delete_async(path))
        return f"deleted {path}, which had {len(children)} children"
    except NoNodeError:
        return f"there was no {path}"
    except KazooException as failed:
        raise ConnectionError(f"ZooKeeper at {endpoint} did not delete {path}: {failed!r}") from failed
    finally:
        session.close()
