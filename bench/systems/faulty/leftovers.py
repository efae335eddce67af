"""What stands on the other end of faulty clients' wires."""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.systems.faulty.link import gate_at


def presence(endpoint: Endpoint) -> Mapping[str, int]:
    """Connections that were opened and not closed."""
    return {"connections": gate_at(endpoint.addresses).connected}
