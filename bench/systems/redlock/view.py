"""The five servers of Redlock on themselves: as Redis, all summed, so a duration is the mean of one server's part."""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.systems.redis import view

ACQUIRES_BY = "set"  # SET NX PX; scripts only free and renew


def read(endpoint: Endpoint) -> Mapping[str, float]:
    """Raises ConnectionError when any of the five does not answer: a sum over four would look like a restart."""
    return view.read(endpoint, ACQUIRES_BY)
