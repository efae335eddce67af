"""The five redis-servers of Redlock, which know nothing of each other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Replication
from bench.servers.url import UrlRules
from bench.systems.redis.server import RedisServers
from bench.systems.redlock import view


class RedlockServers(RedisServers):
    """Five independent redis-servers, each as in `redis`."""

    name: ClassVar[str] = "redlock"
    title: ClassVar[str] = "Redlock"
    node_names: ClassVar[tuple[str, ...]] = tuple(f"redlock-{number}" for number in range(1, 6))
    compose_services: ClassVar[tuple[str, ...]] = node_names
    url_rules: ClassVar[UrlRules] = replace(RedisServers.url_rules, nodes_max=None)

    def replication(self) -> Replication | None:
        """None: Redlock is the way to do without."""
        return None

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)
