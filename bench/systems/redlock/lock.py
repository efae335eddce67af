"""Redlock: the same key on a majority of independent Redis servers, valid for what the lease leaves after asking them.

The algorithm is https://redis.io/docs/latest/develop/use/patterns/distributed-locks/; the objection to it is
https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html.
"""

from collections.abc import Sequence
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
from bench.systems.polling import ask_until
from bench.systems.redis.connection import LEASE_PARTS
from bench.systems.redis.scripts import around_owner_of_set, begin_free, begin_renew, bulk
from bench.systems.redlock.answers import Answers, Silence
from bench.systems.redlock.nodes import Nodes
from bench.systems.wait import POLLING, Wait

DRIFT_PERCENT = 1
DRIFT_MS = 2
NODE_TIMEOUT_MS = 50  # the upper end of what the algorithm's authors suggest (5-50 ms); less of a short lease

_GO_ON_AFTER = frozenset({Outcome.BUSY, Outcome.ERROR})


class RedlockLock(LockClient):
    """A lease on 3 of 5 servers. Variant `node_timeout_ms`: how long a round waits for its slowest node (default 50).

    Of a short lease a round waits a quarter at most. There is no fencing token: no node counts for the others.
    """

    capabilities = Capabilities(
        fencing_source=None,
        token_rises=False,
        expiry_judge="server",
        lease_clock="wall",  # of each node, as Redis keeps it; the client's validity goes by its own monotonic clock
        lease_scope="grant",
        queue_order="none",
        durability="none; every write with appendfsync always",
        nodes=5,
        quorum=3,
        wait_strategies=("try", *POLLING),
        client_clock_matters=True,  # validity is measured by it
        # All nodes are asked before any is read, and they flush side by side: one trip, one flush, however many nodes.
        durable_when=("appendonly=yes", "appendfsync=always"),
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._node_timeout_ms = float(options.variant.get("node_timeout_ms", NODE_TIMEOUT_MS))
        if self._node_timeout_ms <= 0:
            raise ValueError(f"node_timeout_ms is {self._node_timeout_ms:g}: a node needs some time to answer")
        self._nodes = Nodes(endpoint, options.call_timeout_ms, self.clock)
        self._quorum = self._nodes.quorum

    def _close(self) -> None:
        self._nodes.close()

    def _server_facts(self) -> ServerFacts:
        return self._nodes.facts()

    def _connect(self) -> None:
        self._nodes.open(self.options.call_timeout_ms / 1000.0)

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        # A round that failed for late or absent nodes is tried again too, as the algorithm has it, within the timeout.
        return ask_until(self.clock, wait, timeout_ms, lambda: self._attempt(key, ttl_ms), _GO_ON_AFTER)

    def _attempt(self, key: str, ttl_ms: int) -> Grant | Refusal:
        owner = self._next_owner()
        before, after = around_owner_of_set(key, ttl_ms)
        free = begin_free(key, by_source=True) + bulk(owner)
        self._begun = (free, ttl_ms)
        answers = self._nodes.ask(before + bulk(owner) + after, self._nodes.every, self._patience_s(ttl_ms))
        deadline_ns = answers.sent_ns + _valid_ns(ttl_ms)
        won, busy = answers.giving(b"OK"), len(answers.giving(None))
        # A node that is late gets the undo behind the SET, on the same connection, at once: whenever it runs the one,
        # it runs the other next. It is settled then, and takes no further part in this grant.
        doubtful = self._nodes.abandon(answers.giving(Silence.LATE), free) + answers.giving(Silence.LOST)
        if len(won) >= self._quorum and self.clock.monotonic_ns() < deadline_ns:
            return Grant(key, owner, None, ttl_ms, deadline_ns, handle=tuple(won + doubtful))
        # A nil or an error for a reply proves that our value is not there; "not reached", that nothing was sent.
        left = self._undo(free, won + doubtful, ttl_ms)
        tally = f"{len(won)} of {len(self._nodes)} nodes won, {busy} held by another{self._nodes.describe(answers)}"
        if left:
            return Refusal(Outcome.UNKNOWN, f"{tally}; the key may stay until its TTL at {', '.join(left)}")
        if len(won) >= self._quorum:
            return Refusal(Outcome.ERROR, f"{tally}, but only after the lease had run out")
        if len(won) + busy >= self._quorum:  # enough nodes answered: another owner stands in the way, not a failure
            return Refusal(Outcome.BUSY, tally)
        return Refusal(Outcome.ERROR, tally)

    def _abandon(self, free: bytes, ttl_ms: int) -> None:
        self._nodes.abandon(self._nodes.owing(), free)
        self._undo(free, self._nodes.every, ttl_ms)

    def _undo(self, free: bytes, nodes: Sequence[int], ttl_ms: int) -> list[str]:
        """Free our value on `nodes`. Returns the addresses of those where it may remain."""
        answers = self._nodes.ask(free, nodes, self._patience_s(ttl_ms))
        left = self._nodes.abandon(answers.owing(), free)
        left += answers.giving(Silence.LOST) + answers.giving(Silence.UNREACHED) + answers.refused()
        return [self._nodes.address(node) for node in left]

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        answers, _ = self._ask_holders(grant, begin_renew(grant.key, ttl_ms, by_source=True))
        deadline_ns = answers.sent_ns + _valid_ns(ttl_ms)
        # A late node keeps its connection, and owes: so that the release can follow the renewal there, in order.
        kept, silent, refused = answers.giving(1), answers.silent(), answers.refused()
        if len(kept) >= self._quorum and self.clock.monotonic_ns() < deadline_ns:
            return replace(grant, ttl_ms=ttl_ms, deadline_ns=deadline_ns)
        if len(kept) < self._quorum <= len(kept) + len(silent) + len(refused):
            outcome = Outcome.UNKNOWN if len(kept) + len(silent) >= self._quorum else Outcome.ERROR
            return Refusal(outcome, f"the old lease stands until its deadline{self._nodes.describe(answers)}")
        # The holder is notified that the lock is gone, so the rest of it must not stand in others' way for another TTL.
        self._undo(begin_free(grant.key, by_source=True) + bulk(grant.owner), kept + silent, ttl_ms)
        too_late = ", but only after the lease had run out" if len(kept) >= self._quorum else ""
        return Refusal(Outcome.LOST, f"{len(kept)} nodes still had it{too_late}")

    def _release(self, grant: Grant) -> Released | Refusal:
        begin = begin_free(grant.key, by_source=True)
        answers, gone = self._ask_holders(grant, begin)
        self._nodes.abandon(answers.owing(), begin + bulk(grant.owner))
        freed, refused = len(answers.giving(1)), len(answers.refused())
        silent = len(answers.silent()) + len(gone)  # "gone" may be the work of the first request, its reply lost
        if freed >= self._quorum:
            return RELEASED
        if freed + silent + refused < self._quorum:
            return Refusal(Outcome.LOST, f"{freed} nodes still had it")
        outcome = Outcome.UNKNOWN if freed + silent >= self._quorum else Outcome.ERROR
        return Refusal(outcome, f"freed on {freed} nodes, no clear answer from {silent}{self._nodes.describe(answers)}")

    def _ask_holders(self, grant: Grant, begin: bytes) -> tuple[Answers, list[int]]:
        """Ask an owner-checked script where our value may be: better late than not at all, unlike an acquire."""
        at_most_s = min(self.options.call_timeout_ms, grant.ttl_ms) / 1000.0
        nodes = grant.handle or self._nodes.every
        return self._nodes.settle(begin + bulk(grant.owner), nodes, self._patience_s(grant.ttl_ms), at_most_s)

    def _patience_s(self, ttl_ms: int) -> float:
        return min(self._node_timeout_ms, ttl_ms / LEASE_PARTS) / 1000.0


def _valid_ns(ttl_ms: int) -> int:
    """What a lease is worth from the sending of the first request: the TTL less the drift that clocks are allowed."""
    return ttl_ms * 1_000_000 * (100 - DRIFT_PERCENT) // 100 - DRIFT_MS * 1_000_000
