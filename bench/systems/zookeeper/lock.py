"""The ZooKeeper lock: a queue of ephemeral sequential nodes, each contender watching the one before it, or all."""

from dataclasses import replace
from typing import ClassVar

from kazoo.exceptions import KazooException, SessionExpiredError

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
from bench.systems.wait import Wait
from bench.systems.zookeeper.contenders import Contenders, Place, Refused, outcome_of
from bench.systems.zookeeper.facts import read_facts
from bench.systems.zookeeper.names import node_prefix, parent_path, predecessor, sequence_of
from bench.systems.zookeeper.session import TICK_MS, Session


class ZooKeeperLock(LockClient):
    """The lock of ZooKeeper's documentation ("ZooKeeper Recipes and Solutions"), with the node's czxid as token.

    The czxid is the ensemble's number of the transaction that created the node: it rises with every create, in the
    order of the queue, whatever happens to the node's parent.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        fencing_source="czxid",
        token_rises=True,
        expiry_judge="server",
        lease_clock="monotonic",  # ZOOKEEPER-1366: sessions end by System.nanoTime; a clock that was set ended them all
        lease_scope="session",
        queue_order="fifo",
        durability="forced to disk by a majority before the answer",
        nodes=3,
        quorum=2,
        wait_strategies=("try", "watch", "herd"),
        # Create and get_children travel together: one trip, one write; the read is answered after it, from memory.
        # Zab: the leader logs its proposal while the followers log theirs, and one follower's acknowledgement makes the
        # majority: one trip between servers, one flush. Through a follower it is one trip more, to the leader and back.
        peer_round_trips=1,
        durable_when=("forceSync=yes",),
        # The leader ends sessions on ticks, and hears from a follower every half tick which clients are alive.
        ttl_granularity_ms=TICK_MS + TICK_MS // 2,
        ttl_min_ms=2 * TICK_MS,
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._session = Session(endpoint, options)
        self._contenders = Contenders(self._session)

    def _connect(self) -> None:
        self._session.open()

    def _close(self) -> None:
        self._session.close()

    def _server_facts(self) -> ServerFacts:
        return read_facts(self._session, self.options.call_timeout_ms / 1e3)

    def _lost(self, grant: Grant) -> str | None:
        if grant.handle.session != self._session.id:
            return "the session that held it has ended"
        # A cut cable sends no event. From this instant on the servers may end the session, so the holder must stop now.
        if self.clock.monotonic_ns() >= self._session.sure_until_ns:
            return "no server answered for a whole session timeout"
        return None

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        deadline_ns = self.clock.monotonic_ns() + timeout_ms * 1_000_000
        if not self._session.wait_connected(self.options.call_timeout_ms / 1e3):
            return Refusal(Outcome.ERROR, "not connected, and nothing was sent")
        owner, parent = self._next_owner(), parent_path(self._session.root, key)
        prefix, name, herd = node_prefix(owner), None, wait.strategy == "herd"
        self._begun = (parent, prefix)
        try:
            place, names = self._contenders.enqueue(parent, prefix, herd)
            name = place.name
            while name in names and (ahead := predecessor(names, name)):
                left_s = (deadline_ns - self.clock.monotonic_ns()) / 1e9
                if wait.strategy == "try":
                    return self._refuse(parent, prefix, name, Outcome.BUSY, f"behind {ahead}")
                if left_s <= 0:
                    return self._refuse(parent, prefix, name, Outcome.TIMEOUT, f"still behind {ahead}")
                if herd:
                    names = self._contenders.wait_in_herd(parent, left_s)
                else:
                    names = self._contenders.wait_behind(place, ahead, left_s)
        except SessionExpiredError as ended:
            return Refusal(Outcome.LOST, f"the session ended, and our place in the queue with it: {ended!r}")
        except Refused as refused:
            return Refusal(Outcome.ERROR, str(refused))
        except KazooException as failure:
            return self._refuse(parent, prefix, name, Outcome.ERROR, repr(failure))
        # Nobody before us is not enough: the queue may have been read through a new session, after ours and our node.
        if place.session != self._session.id:
            return self._refuse(parent, prefix, name, Outcome.LOST, "the session ended, and our place in the queue too")
        if name not in names:
            return Refusal(Outcome.LOST, "somebody deleted our node in the queue")
        return Grant(key, owner, self._token(place), self._session.timeout_ms, None, place)

    def _abandon(self, parent: str, prefix: str) -> None:
        self._contenders.abandon(parent, prefix)

    def _refuse(self, parent: str, prefix: str, name: str | None, outcome: Outcome, reason: str) -> Refusal:
        if self._contenders.withdraw(parent, prefix, name):
            return Refusal(outcome, reason)
        return Refusal(Outcome.UNKNOWN, f"{reason}; our node may stay until we reconnect or the session ends")

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        """kazoo's pings keep the session, and so does any request; this asks whether they did."""
        if ttl_ms != grant.ttl_ms:
            raise ValueError(f"the lease is the session's, of {grant.ttl_ms} ms: it cannot be made {ttl_ms} ms")
        try:
            if grant.handle.session == self._session.id and self._contenders.holds(grant.handle):
                return grant
        except KazooException as failure:
            return outcome_of(failure)
        return Refusal(Outcome.LOST, "the session that held it has ended, or our node is gone")

    def _release(self, grant: Grant) -> Released | Refusal:
        place: Place = grant.handle
        prefix = node_prefix(grant.owner)
        if place.session != self._session.id or not place.name.startswith(prefix):
            return Refusal(Outcome.LOST, "not held by this session")
        try:
            if self._contenders.delete(place.parent, prefix, place.name):
                return RELEASED
        except KazooException as failure:
            return outcome_of(failure)
        return Refusal(Outcome.LOST, "our node is gone")

    def _token(self, place: Place) -> int:
        return place.czxid


class SequenceTokenZooKeeperLock(ZooKeeperLock):
    """The variant whose token is the node's sequence number. Unsound, and kept to be measured.

    The parent keeps that count: it restarts at 0 when the parent is deleted, by a clean-up script or as a container.
    """

    capabilities: ClassVar[Capabilities] = replace(
        ZooKeeperLock.capabilities, fencing_source="sequence number", token_rises=False
    )

    def _token(self, place: Place) -> int:
        return sequence_of(place.name) or 0
