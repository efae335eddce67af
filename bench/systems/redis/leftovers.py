"""What Redis servers keep for a key, asked past the adapter."""

import redis

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """Lock keys on every node. The fence counter stays by design, and is no entry."""
    found = []
    for host, port in endpoint.addresses:
        with redis.Redis(host, port, decode_responses=True, socket_timeout=_WITHIN_S) as client:
            found += [f"{port} {name}" for name in client.scan_iter(f"*{key}*", 1000) if not name.endswith(":fence")]
    return sorted(found)
