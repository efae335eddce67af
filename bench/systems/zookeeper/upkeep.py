"""What an operator can do to one lock's nodes, past the adapter."""

from contextlib import suppress

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from bench.servers.endpoint import Endpoint
from bench.systems.zookeeper.names import parent_path

_WITHIN_S = 10.0


def erase(endpoint: Endpoint, key: str) -> str:
    """Delete the node under which the key's contenders queue, as a clean-up script does, and ZooKeeper itself does with
    an empty container node. The next contender makes it anew. Raises ConnectionError.
    """
    path = parent_path(key)
    client = KazooClient(",".join(f"{host}:{port}" for host, port in endpoint.addresses), timeout=_WITHIN_S)
    try:
        client.start(_WITHIN_S)
        children = client.get_children(path)
        # Not with what may be in it: a contender's node is that contender's, and an operator who looks waits.
        client.delete(path)
        return f"deleted {path}, which had {len(children)} children"
    except NoNodeError:
        return f"there was no {path}"
    except (KazooException, KazooTimeoutError) as failed:
        raise ConnectionError(f"ZooKeeper at {endpoint} did not delete {path}: {failed!r}") from failed
    finally:
        with suppress(KazooException, OSError):
            client.stop()
            client.close()
