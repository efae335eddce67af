"""What Redis servers keep for a key, asked past the adapter."""

from collections import Counter
from collections.abc import Iterator, Mapping

import redis
from redis.exceptions import NoPermissionError

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """On every node: the lock's key, wake-ups, the places of a queue, subscriptions. The fence counter stays by design,
    and is no entry."""
    found = []
    for host, port in endpoint.addresses:
        with redis.Redis(host, port, decode_responses=True, socket_timeout=_WITHIN_S) as client:
            found += [f"{port} {entry}" for entry in (*_keys(client, key), *_subscriptions(client, key))]
    return sorted(found)


def presence(endpoint: Endpoint) -> Mapping[str, int]:
    """Of all nodes: connections, subscriptions, and clients in a blocking command. {}: not allowed."""
    found: Counter[str] = Counter()
    for host, port in endpoint.addresses:
        with redis.Redis(host, port, decode_responses=True, socket_timeout=_WITHIN_S) as client:
            try:
                me, clients = client.client_id(), client.client_list()
            except NoPermissionError:
                return {}
            for one in clients:
                if int(one["id"]) != me:
                    found["connections"] += 1
                    found["subscriptions"] += int(one["sub"]) + int(one["psub"])
                    found["blocked"] += "b" in one["flags"]
    return found


def _keys(client: "redis.Redis", key: str) -> Iterator[str]:
    for name in map(str, client.scan_iter(f"*{key}*", 1000)):
        if name.endswith(":fence"):
            continue
        members = client.zrange(name, 0, -1) if client.type(name) == "zset" else []
        yield from [f"{name} {member!s}" for member in members] or [name]


def _subscriptions(client: "redis.Redis", key: str) -> Iterator[str]:
    for channel, count in client.pubsub_numsub(*client.pubsub_channels(f"*{key}*")):
        yield from [f"subscription to {channel!s}"] * count
