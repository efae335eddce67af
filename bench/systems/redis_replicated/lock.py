"""A lock that a replica has as well before it is granted: WAIT after each script, in the same round trip.

Redis answers a write before its replicas have it, and a failover in between loses the lock. WAIT answers once a replica
has acknowledged all that this connection wrote. It narrows the gap and does not close it: a failover may promote a
replica that was not the one to acknowledge (https://redis.io/commands/wait, "Consistency and WAIT").
"""

from dataclasses import replace
from typing import Any

from redis.exceptions import RedisError

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant, Outcome, Refusal, ServerFacts
from bench.systems.redis.connection import LEASE_PARTS, Link
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import command
from bench.systems.redis.woken import LOAD_SCRIPTS

REPLICAS = 1


class NotReplicated(RedisError):
    """The server did what was asked, and no replica has acknowledged it in time."""


class ReplicatedLink(Link):
    """A link whose every command is followed by a WAIT: two replies, of which `call` returns the first.

    `unacknowledged` says why no replica is known to have what the last call wrote; "" when one has it.
    """

    unacknowledged = ""
    _first: Any = None  # the command's own reply, while that of its WAIT is owed

    def send(self, packed: bytes) -> None:
        self._first = None
        # Ended before the connection is doubted, as long as the lease is not shorter than a call may take.
        within_ms = max(1, round(self._timeout_s * 1000.0 / LEASE_PARTS / 2))
        self._unheard = f"no replica has acknowledged it within {within_ms} ms"
        super().send(packed + command("WAIT", str(REPLICAS), str(within_ms)))

    def _read(self, within_s: float | None) -> Any:
        if self._first is None:
            try:
                self._first = super()._read(within_s)
            except ErrorReply as refusal:
                self._first = refusal
            self._in_doubt = True
        try:
            self.unacknowledged = "" if super()._read(within_s) >= REPLICAS else self._unheard
        except ErrorReply as refusal:  # as where the right to WAIT is missing
            self.unacknowledged = str(refusal)
        if isinstance(self._first, ErrorReply):
            raise self._first
        return self._first


class ReplicatedRedisLock(RedisLock):
    """SET NX PX, INCR and WAIT 1 in one round trip: whoever is granted the key holds it on a replica, too."""

    capabilities = replace(
        RedisLock.capabilities,
        durability="the memory of a replica as well, before the answer",
        nodes=1 + REPLICAS,
        quorum=1 + REPLICAS,
        peer_round_trips=1,
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._link: ReplicatedLink = ReplicatedLink(
            endpoint, 0, options.call_timeout_ms, options.clock, load_scripts=LOAD_SCRIPTS
        )

    def _take(self, key: str, ttl_ms: int, owner: str, begin: bytes) -> int:
        token = super()._take(key, ttl_ms, owner, begin)
        if token and self._link.unacknowledged:  # a key that another has was not written: there is nothing to wait for
            raise NotReplicated(self._link.unacknowledged)
        return token

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        renewed = super()._renew(grant, ttl_ms)
        if isinstance(renewed, Grant) and self._link.unacknowledged:
            # A replica that is promoted ends the lease when the old one would have ended.
            return Refusal(Outcome.ERROR, f"the old lease stands until its deadline: {self._link.unacknowledged}")
        return renewed

    # A release that no replica acknowledged is one: at worst the key stays there until its TTL, and nobody holds it.

    def _server_facts(self) -> ServerFacts:
        facts = super()._server_facts()
        return replace(facts, nodes=1 + int(self._link.info.get("connected_slaves", "0")))
