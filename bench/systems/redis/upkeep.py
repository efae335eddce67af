"""What an operator can do to one lock's keys, past the adapter."""

from redis.exceptions import RedisError

from bench.servers.endpoint import Endpoint
from bench.systems.redis.scripts import command, names
from bench.systems.redis.wire import connected

_WITHIN_S = 2.0


def erase(endpoint: Endpoint, key: str) -> str:
    """DEL of the lock and of its fence counter, on every node: the next grant counts from 1. Raises ConnectionError."""
    deleted = 0
    for host, port in endpoint.addresses:
        try:
            with connected(endpoint, host, port, _WITHIN_S) as wire:
                wire.send_packed_command((command("DEL", *names(key)),), False)
                deleted += int(wire.read_response())
        except RedisError as failed:
            raise ConnectionError(f"redis at {host}:{port} did not delete {key!r}: {failed}") from failed
    return f"DEL of {' '.join(names(key))}: {deleted} keys deleted"
