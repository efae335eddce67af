"""Redlock: the same key on a majority of independent Redis servers, valid for what the lease leaves after asking them.

The algorithm is https://redis.io/docs/latest/develop/use/patterns/distributed-locks/; the objection to it is
https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html.
"""

from dataclasses import replace

from bench.servers.endpoint import Endpoint
from bench.systems.base import (
    RELEASED,
    Capabilities,
    ClientOptions,
    Grant,
    LockClient,
    Outcome,
    Refusal,
    Released,
    ServerFacts,
)
from bench.systems.redis.connection import EvictingServer
from bench.systems.redis.polling import ask_until
from bench.systems.redis.scripts import around_owner_of_set, begin_free, begin_renew, bulk
from bench.systems.redlock.answers import Answers, Silence
from bench.systems.redlock.nodes import Nodes
from bench.systems.wait import Wait

DRIFT_PERCENT = 1
DRIFT_MS = 2
NODE_TIMEOUT_MS = 50  # the upper end of what the algorithm's authors suggest (5-50 ms)
NODE_TIMEOUT_TTL_PARTS = 4  # and never more than this part of the lease, or one silent node would eat it

_GO_ON_AFTER = frozenset({Outcome.BUSY, Outcome.ERROR})


class RedlockLock(LockClient):
    """A lease on 3 of 5 servers. Variant `node_timeout_ms`: how long a round waits for its slowest node (default 50).

    Of a short lease a round waits a quarter at most. There is no fencing token: no node counts for the others.
    """

    capabilities = Capabilities(
        fencing_source=None,
        token_rises=False,
        expiry_judge="server",
        lease_scope="grant",
        queue_order="none",
        durability="none; every write with appendfsync always",
        nodes=5,
        quorum=3,
        wait_strategies=("try", "poll"),
        client_clock_matters=True,  # validity is measured by it
        # All nodes are asked before any is read, and they flush side by side: one trip, one flush, however many nodes.
        durable_when=("appendonly=yes", "appendfsync=always"),
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._node_timeout_ms = float(options.variant.get("node_timeout_ms", NODE_TIMEOUT_MS))
        if self._node_timeout_ms <= 0:
            raise ValueError(f"node_timeout_ms is {self._node_timeout_ms:g}: a node needs some time to answer")
        self._nodes = Nodes(endpoint, self._node_timeout_ms, self.clock)
        self._quorum = len(self._nodes) // 2 + 1

    def _close(self) -> None:
        self._nodes.close()

    def server_facts(self) -> ServerFacts:
        return self._nodes.facts()

    def _connect(self) -> None:
        try:
            reached, failures = self._nodes.open(self.options.call_timeout_ms / 1000.0)
        except EvictingServer:
            self._close()
            raise
        if reached < self._quorum:
            self._close()
            raise ConnectionError(f"redlock reached {reached} of {len(self._nodes)} nodes: {'; '.join(failures)}")

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        # A round that failed for late or absent nodes is tried again too, as the algorithm has it, within the timeout.
        return ask_until(self.clock, wait, timeout_ms, lambda: self._attempt(key, ttl_ms), _GO_ON_AFTER)

    def _attempt(self, key: str, ttl_ms: int) -> Grant | Refusal:
        owner = self._next_owner()
        before, after = around_owner_of_set(key, ttl_ms)
        free = begin_free(key, by_source=True) + bulk(owner)
        deadline_ns = self.clock.monotonic_ns() + _valid_ns(ttl_ms)
        answers = self._nodes.ask(before + bulk(owner) + after, self._nodes.every, self._patience_s(ttl_ms))
        won, busy = answers.giving(b"OK"), len(answers.giving(None))
        # A node that is late gets the undo behind the SET, on the same connection, at once: whenever it runs the one,
        # it runs the other next. It is settled then, and takes no further part in this grant.
        doubtful = self._nodes.abandon(answers.owing(), free) + answers.giving(Silence.LOST)
        if len(won) >= self._quorum and self.clock.monotonic_ns() < deadline_ns:
            return Grant(key, owner, None, ttl_ms, deadline_ns, handle=tuple(won + doubtful))
        # A nil reply proves that our value is not there; "not reached", that nothing was sent. All others are undone.
        left = self._undo(free, won + doubtful + answers.refused(), ttl_ms)
        tally = f"{len(won)} of {len(self._nodes)} nodes won, {busy} held by another{self._nodes.describe(answers)}"
        if left:
            return Refusal(Outcome.UNKNOWN, f"{tally}; the key may stay until its TTL at {', '.join(left)}")
        if len(won) >= self._quorum:
            return Refusal(Outcome.ERROR, f"{tally}, but only after the lease had run out")
        if len(won) + busy >= self._quorum:  # enough nodes answered: another owner stands in the way, not a failure
            return Refusal(Outcome.BUSY, tally)
        return Refusal(Outcome.ERROR, tally)

    def _undo(self, free: bytes, nodes: list[int], ttl_ms: int) -> list[str]:
        """Free our value on `nodes`. Returns the addresses of those where it may remain."""
        answers = self._nodes.ask(free, nodes, self._patience_s(ttl_ms))
        left = self._nodes.abandon(answers.owing(), free)
        # An error reply leaves nothing: the node refuses this as it refused the SET.
        left += answers.giving(Silence.LOST) + answers.giving(Silence.UNREACHED)
        return [self._nodes.address(node) for node in left]

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        deadline_ns = self.clock.monotonic_ns() + _valid_ns(ttl_ms)
        answers, _ = self._ask_holders(grant, begin_renew(grant.key, ttl_ms, by_source=True))
        # A late node keeps its connection, and owes: so that the release can follow the renewal there, in order.
        kept, silent = answers.giving(1), answers.unclear()
        if len(kept) >= self._quorum and self.clock.monotonic_ns() < deadline_ns:
            return replace(grant, ttl_ms=ttl_ms, deadline_ns=deadline_ns)
        if len(kept) < self._quorum <= len(kept) + len(silent):
            return Refusal(Outcome.UNKNOWN, f"the old lease stands until its deadline: {len(silent)} nodes are silent")
        # The holder is told that the lock is gone, so the rest of it must not stand in others' way for another TTL.
        self._undo(begin_free(grant.key, by_source=True) + bulk(grant.owner), kept + silent, ttl_ms)
        too_late = ", but only after the lease had run out" if len(kept) >= self._quorum else ""
        return Refusal(Outcome.LOST, f"{len(kept)} nodes still had it{too_late}")

    def _release(self, grant: Grant) -> Released | Refusal:
        begin = begin_free(grant.key, by_source=True)
        answers, gone = self._ask_holders(grant, begin)
        self._nodes.abandon(answers.owing(), begin + bulk(grant.owner))
        freed = len(answers.giving(1))
        unclear = len(answers.unclear()) + len(gone)  # "gone" may be the work of the first request, its reply lost
        if freed >= self._quorum:
            return RELEASED
        if freed + unclear < self._quorum:
            return Refusal(Outcome.LOST, f"{freed} nodes still had it")
        return Refusal(Outcome.UNKNOWN, f"freed on {freed} nodes, no clear answer from {unclear}")

    def _ask_holders(self, grant: Grant, begin: bytes) -> tuple[Answers, list[int]]:
        """Ask an owner-checked script where our value may be; where a connection breaks, once more on a new one.

        Unlike an acquire, which is better undone than late, this waits for a quorum beyond the node timeout.
        Returns the answers, and the nodes that, asked again, had our value no more.
        """
        packed, patience_s = begin + bulk(grant.owner), self._patience_s(grant.ttl_ms)
        at_most_s = min(self.options.call_timeout_ms, grant.ttl_ms) / 1000.0
        nodes = grant.handle or self._nodes.every
        answers = self._nodes.ask(packed, nodes, patience_s, replies_min=self._quorum, at_most_s=at_most_s)
        again = self._nodes.ask(packed, answers.giving(Silence.LOST), patience_s)
        answers.update(again)
        return answers, again.giving(0)

    def _patience_s(self, ttl_ms: int) -> float:
        return min(self._node_timeout_ms, ttl_ms / NODE_TIMEOUT_TTL_PARTS) / 1000.0


def _valid_ns(ttl_ms: int) -> int:
    """What a lease is worth from the sending of the first request: the TTL less the drift that clocks are allowed."""
    return ttl_ms * 1_000_000 * (100 - DRIFT_PERCENT) // 100 - DRIFT_MS * 1_000_000
