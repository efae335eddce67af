"""A lock on one Redis server: one script takes the key and, only when it won, draws the next fencing token."""

from dataclasses import replace

from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

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
from bench.systems.redis.connection import Link, doubt_after_s
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import begin_free, begin_renew, begin_take, bulk
from bench.systems.redis.session import UnfitServer
from bench.systems.wait import POLLING, Wait

_BUSY = Refusal(Outcome.BUSY, "held by another owner")
_LOST = Refusal(Outcome.LOST, "the key is gone or belongs to another owner")


class RedisLock(LockClient):
    """SET NX PX and INCR in one round trip; renew and release only for the owner (https://redis.io/commands/set)."""

    capabilities = Capabilities(
        fencing_source="INCR of a counter beside the lock, in the script that wins it",
        token_rises=True,
        expiry_judge="server",
        lease_clock="wall",  # EXPIRE's page: ends are kept as Unix times, so the machine's clock must be stable
        lease_scope="grant",
        queue_order="none",
        durability="none; every write with appendfsync always",
        nodes=1,
        quorum=1,
        wait_strategies=("try", *POLLING),
        # Each is one script, and a script's writes are flushed to the append-only file once, before its reply is sent.
        durable_when=("appendonly=yes", "appendfsync=always"),
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._link = Link(endpoint, 0, options.call_timeout_ms, options.clock)

    def _close(self) -> None:
        self._link.close()

    def _server_facts(self) -> ServerFacts:
        return self._link.facts()

    def _connect(self) -> None:
        self._link.connect()

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        return ask_until(self.clock, wait, timeout_ms, lambda: self._attempt(key, ttl_ms))

    def _attempt(self, key: str, ttl_ms: int) -> Grant | Refusal:
        owner = self._next_owner()
        try:
            self._link.open()
        except (RedisError, UnfitServer) as failure:
            return Refusal(Outcome.ERROR, f"nothing was sent: {failure}")
        self._begun = (key, owner, ttl_ms)
        sent_ns = self.clock.monotonic_ns()
        try:
            token = self._take(key, ttl_ms, owner)
        except ErrorReply as refusal:  # whoever is answered by an error holds nothing: the script sees to that
            return Refusal(Outcome.ERROR, str(refusal))
        except RedisError as failure:
            return self._undo(key, owner, ttl_ms, str(failure))
        if not token:
            return _BUSY
        deadline_ns = sent_ns + ttl_ms * 1_000_000
        if self.clock.monotonic_ns() >= deadline_ns:
            return self._undo(key, owner, ttl_ms, "the reply took longer than the lease")
        return Grant(key, owner, token, ttl_ms, deadline_ns)

    def _take(self, key: str, ttl_ms: int, owner: str) -> int:
        """The token when this owner won the key, 0 when another has it."""
        token: int = self._link.call(begin_take(key, ttl_ms) + bulk(owner), self._patience_s(ttl_ms))
        return token

    def _abandon(self, key: str, owner: str, ttl_ms: int) -> None:
        self._undo(key, owner, ttl_ms, "interrupted")

    def _undo(self, key: str, owner: str, ttl_ms: int, failure: str) -> Refusal:
        """Free what the failed attempt may have taken. A new connection ends the lost one first, so a command still on
        the way cannot take the key after this has looked. Should none be had, the same words have been said on the old
        one, where they follow the lost command."""
        free = begin_free(key) + bulk(owner)
        try:
            if not self._link.is_open():
                self._link.abandon(free, settles=False)
            self._settle(free, ttl_ms)
        except (RedisError, UnfitServer) as second:
            return Refusal(Outcome.UNKNOWN, f"{failure}; clean-up failed too: {second}")
        return Refusal(Outcome.ERROR, f"{failure}; nothing of ours is left")

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        sent_ns = self.clock.monotonic_ns()
        try:
            renewed, _ = self._settle(begin_renew(grant.key, ttl_ms) + bulk(grant.owner), grant.ttl_ms)
        except (RedisError, UnfitServer) as failure:
            return Refusal(said_or_lost(failure), f"the old lease stands until its deadline: {failure}")
        if not renewed:
            return _LOST
        deadline_ns = sent_ns + ttl_ms * 1_000_000
        if self.clock.monotonic_ns() >= deadline_ns:
            undone = self._undo(grant.key, grant.owner, ttl_ms, "the renewal took longer than the lease it asked for")
            return Refusal(Outcome.LOST, undone.reason)
        return replace(grant, ttl_ms=ttl_ms, deadline_ns=deadline_ns)

    def _release(self, grant: Grant) -> Released | Refusal:
        try:
            freed, asked_twice = self._settle(begin_free(grant.key) + bulk(grant.owner), grant.ttl_ms)
        except (RedisError, UnfitServer) as failure:
            return Refusal(said_or_lost(failure), f"the key may stay until its TTL: {failure}")
        if freed:
            return RELEASED
        # After a lost reply an absent key proves nothing: the first release freed it, or the lease had run out before.
        return Refusal(Outcome.UNKNOWN, "the reply was lost; the key is not ours now") if asked_twice else _LOST

    def _settle(self, packed: bytes, ttl_ms: int) -> tuple[int, bool]:
        """Ask an owner-checked script; when its reply is lost, once more on a new connection, for both scripts can run
        twice without harm. Returns the reply and whether it took two."""
        self._link.open()
        try:
            return self._link.call(packed, self._patience_s(ttl_ms)), False
        except ErrorReply:
            raise
        except RedisError:
            self._link.open()
        try:
            return self._link.call(packed, self._patience_s(ttl_ms)), True
        except ErrorReply as refusal:  # of the second request: what became of the first is not known
            raise RedisTimeout(str(refusal)) from refusal

    def _patience_s(self, ttl_ms: int) -> float:
        return doubt_after_s(self.options.call_timeout_ms, ttl_ms)


def said_or_lost(failure: Exception) -> Outcome:
    """What the server refused was not done; what broke off may have been."""
    return Outcome.ERROR if isinstance(failure, ErrorReply) else Outcome.UNKNOWN
