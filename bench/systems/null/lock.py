"""`null`: grants everything to everybody, at once. The floor of the instrument, and no lock.

Whatever a run on `null` measures is the cost of the load generator, the recorder and the contract's argument checks;
the same cost is inside every other system's figures.
"""

from bench.systems.base import RELEASED, Capabilities, Grant, LockClient, Refusal, Released, ServerFacts
from bench.systems.wait import Wait


class NullLock(LockClient):
    """Excludes nobody: the conformance suite has to fail on it, and a test says so."""

    capabilities = Capabilities(
        fencing_source=None,
        token_rises=False,
        expiry_judge="nobody",
        lease_scope="none",
        queue_order="none",
        durability="none",
        nodes=0,
        quorum=0,
        wait_strategies=("try", "poll", "watch", "block"),
        acquire_round_trips=0,  # in the client's own process
        release_round_trips=0,
    )

    def _connect(self) -> None:
        """There is nothing to connect to."""

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        return Grant(key, self.options.client, None, ttl_ms, None)

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        return grant

    def _release(self, grant: Grant) -> Released | Refusal:
        return RELEASED

    def _close(self) -> None:
        """Nothing is held."""

    def _server_facts(self) -> ServerFacts:
        """There is no server to ask."""
        return ServerFacts("none", "none", {}, 0)
