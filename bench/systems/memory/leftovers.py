"""What the store of this process keeps for a key."""

from bench.servers.endpoint import Endpoint
from bench.systems.clock import SYSTEM_CLOCK
from bench.systems.memory.store import store_at


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
    """Holder and queue of a key."""
    return store_at(endpoint).entries(key, SYSTEM_CLOCK.monotonic_ns())
