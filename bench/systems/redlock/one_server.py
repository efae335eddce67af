"""Redlock counts votes of servers that know nothing of each other: one server, or one server's copies, has one vote."""

from collections.abc import Mapping

from bench.systems.redis.session import UnfitServer

# What two names of one server tell alike, and two servers never: the process's own random number, and that of the data
# it serves, which a replica takes over from its primary.
_IDENTITIES = {"run_id": "are one server", "master_replid": "serve copies of the same data"}


class OneServer(UnfitServer):
    """Two addresses of a Redlock are one server, or a primary and its replica."""


def refuse_one_server(by_address: Mapping[str, Mapping[str, str]]) -> None:
    """Raise OneServer for two addresses whose servers' own words (INFO, by address) show that they are not independent.

    What a server does not tell proves nothing, either way.
    """
    for name, how in _IDENTITIES.items():
        seen: dict[str, str] = {}
        for address, facts in by_address.items():
            identity = facts.get(name)
            if identity and (other := seen.setdefault(identity, address)) != address:
                raise OneServer(f"redlock: {other} and {address} {how} ({name} {identity}): name independent servers")
    follows: dict[tuple[str, str], str] = {}
    for address, facts in by_address.items():
        if facts.get("role") in ("slave", "replica"):
            primary = (facts.get("master_host", ""), facts.get("master_port", ""))
            if (other := follows.setdefault(primary, address)) != address:
                raise OneServer(f"redlock: {other} and {address} are replicas of one primary: name independent servers")
