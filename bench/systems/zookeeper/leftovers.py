"""What a ZooKeeper ensemble keeps for a key, asked past the adapter."""

from collections import Counter
from collections.abc import Mapping

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from bench.servers.endpoint import Endpoint
from bench.servers.tls import client_context
from bench.systems.zookeeper.four_letter import NotAllowed, ask, fields

_WITHIN_S = 5.0
_COUNTED = {
    "connections": "zk_num_alive_connections",  # and the one that asks
    "sessions": "zk_global_sessions",
    "ephemeral nodes": "zk_ephemerals_count",
    "watches": "zk_watch_count",
}


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


def presence(endpoint: Endpoint) -> Mapping[str, int]:
    """Of all servers, as `mntr` counts; what each knows of the whole ensemble counts once for each. {}: not allowed."""
    found: Counter[str] = Counter()
    for host, port in endpoint.addresses:
        try:
            said = fields(ask(host, port, "mntr", _WITHIN_S, client_context(endpoint)))
        except NotAllowed:
            return {}
        for name, counted in _COUNTED.items():
            found[name] += int(float(said[counted])) - (name == "connections")
    return found
