"""The five redis-servers of Redlock, which know nothing of each other."""

from typing import ClassVar

from bench.systems.redis.server import RedisServers


class RedlockServers(RedisServers):
    """Five independent redis-servers, each as in `redis`."""

    name: ClassVar[str] = "redlock"
    title: ClassVar[str] = "Redlock"
    node_names: ClassVar[tuple[str, ...]] = tuple(f"redlock-{number}" for number in range(1, 6))
    compose_services: ClassVar[tuple[str, ...]] = node_names
