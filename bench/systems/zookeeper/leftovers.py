"""What a ZooKeeper ensemble keeps for a key, asked past the adapter."""

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """The children of the key's node, after a sync, so that no follower answers from the past."""
    client = KazooClient(",".join(f"{host}:{port}" for host, port in endpoint.addresses), timeout=_WITHIN_S)
    client.start(_WITHIN_S)
    try:
        client.sync("/")
        return sorted(client.get_children(f"/lockbench/{key}"))
    except NoNodeError:
        return []
    finally:
        client.stop()
        client.close()
