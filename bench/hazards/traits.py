"""What a system can do, in the words by which scenarios choose systems and steps.

Each is a fact of the adapter's capabilities or of its servers' spec, and true or false, so that it can stand in a
scenario's `needs`, `where` and `when` beside parameters.
"""

from collections.abc import Mapping
from functools import cache

from bench.systems.registry import system

TRAITS = ("servers", "lease", "per_grant", "token", "judged_by_client", "several_nodes", "elects", "successor")


@cache
def traits_of(name: str) -> Mapping[str, bool]:
    """All traits of a system of the registry."""
    entry = system(name)
    able, servers = entry.client_class.capabilities, entry.servers
    elects = servers is not None and servers.elects
    return {
        "servers": servers is not None,
        "lease": able.lease_scope != "none",  # the lock ends by itself, and not with its connection
        "per_grant": able.lease_scope == "grant",  # the lease is the grant's own, and not its session's
        "token": able.fencing_source is not None,
        "judged_by_client": able.expiry_judge == "client",
        "several_nodes": able.nodes > 1,
        "elects": elects,  # a majority of its servers chooses a leader
        "successor": elects or (servers is not None and servers.replication() is not None),
    }
