"""`memory`: a lock within one process, by the same contract as the real systems.

It has what a correct lock service has (leases, tokens, a queue) and none of the network, so it bounds from below what
any system of the bench could measure with this recorder, and it shows that the conformance suite can be passed.
"""

from dataclasses import replace

from bench.systems.base import (
    RELEASED,
    Capabilities,
    Grant,
    LockClient,
    Outcome,
    Refusal,
    Released,
    ServerFacts,
)
from bench.systems.memory.store import NS_PER_MS, Waiter, store_at
from bench.systems.polling import ask_until
from bench.systems.wait import POLLING, Wait


class MemoryLock(LockClient):
    """One client of the store that all clients with the same addresses share within this process."""

    capabilities = Capabilities(
        fencing_source="counter of the key",
        token_rises=True,
        expiry_judge="server",
        lease_clock="monotonic",
        lease_scope="grant",
        queue_order="fifo",
        durability="none: ends with the process",
        nodes=0,  # no server: the store lives in the client's own process
        quorum=0,
        wait_strategies=("try", *POLLING, "block"),
        acquire_round_trips=0,  # in the client's own process
        release_round_trips=0,
    )

    def _connect(self) -> None:
        self._store = store_at(self.endpoint)
        self._closed = False

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        self._check_open()
        owner = self._next_owner()
        self._begun = (key, owner)
        if wait.strategy == "block":
            return self._queue(key, owner, ttl_ms, self.clock.monotonic_ns() + timeout_ms * NS_PER_MS)
        return ask_until(self.clock, wait, timeout_ms, lambda: self._ask(key, owner, ttl_ms))

    def _ask(self, key: str, owner: str, ttl_ms: int) -> Grant | Refusal:
        sent_ns = self.clock.monotonic_ns()
        token = self._store.take(key, owner, ttl_ms, sent_ns)
        if token is None:
            return Refusal(Outcome.BUSY, "held by another")
        return Grant(key, owner, token, ttl_ms, sent_ns + ttl_ms * NS_PER_MS)

    def _queue(self, key: str, owner: str, ttl_ms: int, until_ns: int) -> Grant | Refusal:
        now_ns = self.clock.monotonic_ns()
        waiter = self._join(key, owner, ttl_ms, now_ns)
        while waiter.token is None:
            if now_ns >= until_ns and self._store.withdraw(key, waiter, now_ns):
                return Refusal(Outcome.TIMEOUT, "held by another until the timeout")
            # Sleep until handed over, or until the holder's lease ends: nobody else would notice that it did.
            lease_end_ns = self._store.next_change_ns(key, now_ns)
            self._sleep(waiter, max(0, min(until_ns, lease_end_ns) - now_ns) / 1e9)
            now_ns = self.clock.monotonic_ns()
        # The lease began when it was handed over, which may be some time before this thread was woken.
        return Grant(key, owner, waiter.token, ttl_ms, waiter.leased_ns + ttl_ms * NS_PER_MS)

    def _join(self, key: str, owner: str, ttl_ms: int, now_ns: int) -> Waiter:
        return self._store.enqueue(key, owner, ttl_ms, now_ns)

    def _sleep(self, waiter: Waiter, within_s: float) -> None:
        waiter.handed_over.wait(within_s)

    def _abandon(self, key: str, owner: str) -> None:
        self._store.forget(key, owner, self.clock.monotonic_ns())

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        self._check_open()
        now_ns = self.clock.monotonic_ns()
        if not self._store.renew(grant.key, grant.owner, ttl_ms, now_ns):
            return Refusal(Outcome.LOST, "the lease ran out or was released")
        return replace(grant, ttl_ms=ttl_ms, deadline_ns=now_ns + ttl_ms * NS_PER_MS)

    def _release(self, grant: Grant) -> Released | Refusal:
        self._check_open()
        if not self._store.release(grant.key, grant.owner, self.clock.monotonic_ns()):
            return Refusal(Outcome.LOST, "the lease ran out or was released")
        return RELEASED

    def _close(self) -> None:
        """Leases of this client run out by themselves, as on a server that keeps no sessions."""
        self._closed = True

    def _server_facts(self) -> ServerFacts:
        """Facts of the store itself."""
        return ServerFacts("in-process", f"store {id(self._store):x}", {"persistence": "none"}, 0)

    def _check_open(self) -> None:
        if self._closed:
            raise ConnectionError(f"client {self.options.client} of {type(self).__name__} is closed")
