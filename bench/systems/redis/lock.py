"""A lock on one Redis server: one script takes the key and, only when it won, draws the next fencing token."""

from dataclasses import replace
from functools import partial

from redis.exceptions import RedisError

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
from bench.systems.redis.refusals import ErrorReply, said_or_lost
from bench.systems.redis.scripts import begin_free, begin_renew, begin_take, bulk
from bench.systems.redis.session import UnfitServer
from bench.systems.redis.settling import settle
from bench.systems.redis.woken import LOAD_SCRIPTS, WAITERS
from bench.systems.redis.woken.ear import Ear
from bench.systems.redis.woken.waiter import Waiter, ask_when_woken
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
        wait_strategies=("try", *POLLING, *WAITERS),
        # Each is one script, and a script's writes are flushed to the append-only file once, before its reply is sent.
        durable_when=("appendonly=yes", "appendfsync=always"),
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._link = Link(endpoint, 0, options.call_timeout_ms, options.clock, load_scripts=LOAD_SCRIPTS)
        self._ear = Ear(endpoint, options, LOAD_SCRIPTS)

    def _close(self) -> None:
        self._ear.drop()
        self._link.close()

    def _server_facts(self) -> ServerFacts:
        return self._link.facts()

    def _connect(self) -> None:
        self._link.connect()

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        if wait.strategy not in WAITERS:
            return ask_until(self.clock, wait, timeout_ms, lambda: self._attempt(key, ttl_ms))
        waiter = WAITERS[wait.strategy](key, self._next_owner(), wait, self._ear, self._patience_s(ttl_ms))
        attempt = partial(self._attempt, key, ttl_ms, waiter)
        undo = partial(self._undo, key, waiter.owner, ttl_ms, waiter)
        return ask_when_woken(self.clock, waiter, timeout_ms, attempt, undo)

    def _attempt(self, key: str, ttl_ms: int, waiter: Waiter | None = None, last: bool = True) -> Grant | Refusal:
        owner = self._next_owner() if waiter is None else waiter.owner
        try:
            self._link.open()
        except (RedisError, UnfitServer) as failure:
            return Refusal(Outcome.ERROR, f"nothing was sent: {failure}")
        self._begun = (key, owner, ttl_ms, waiter)
        begin = waiter.begin_take(ttl_ms, last) if waiter else begin_take(key, ttl_ms)
        sent_ns = self.clock.monotonic_ns()
        try:
            token = self._take(key, ttl_ms, owner, begin)
        except ErrorReply as refusal:  # whoever is answered by an error holds nothing: the script sees to that
            return Refusal(Outcome.ERROR, str(refusal))
        except RedisError as failure:
            return self._undo(key, owner, ttl_ms, waiter, str(failure))
        if not token:
            return _BUSY
        deadline_ns = sent_ns + ttl_ms * 1_000_000
        if self.clock.monotonic_ns() >= deadline_ns:
            return self._undo(key, owner, ttl_ms, waiter, "the reply took longer than the lease")
        return Grant(key, owner, token, ttl_ms, deadline_ns, waiter)

    def _take(self, key: str, ttl_ms: int, owner: str, begin: bytes) -> int:
        """The token when this owner won the key, 0 when another has it."""
        token: int = self._link.call(begin + bulk(owner), self._patience_s(ttl_ms))
        return token

    def _abandon(self, key: str, owner: str, ttl_ms: int, waiter: Waiter | None) -> None:
        self._ear.drop()
        self._undo(key, owner, ttl_ms, waiter, "interrupted")

    def _undo(self, key: str, owner: str, ttl_ms: int, waiter: Waiter | None, failure: str) -> Refusal:
        """Free what the failed attempt may have taken. A new connection ends the lost one first, so a command still on
        the way cannot take the key after this has looked. Should none be had, the same words have been said on the old
        one, where they follow the lost command."""
        free = (waiter.begin_free() if waiter else begin_free(key)) + bulk(owner)
        try:
            if not self._link.is_open():
                self._link.abandon(free, settles=False)
            settle(self._link, free, self._patience_s(ttl_ms))
        except (RedisError, UnfitServer) as second:
            return Refusal(Outcome.UNKNOWN, f"{failure}; clean-up failed too: {second}")
        return Refusal(Outcome.ERROR, f"{failure}; nothing of ours is left")

    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        sent_ns = self.clock.monotonic_ns()
        try:
            renew = begin_renew(grant.key, ttl_ms) + bulk(grant.owner)
            renewed, _ = settle(self._link, renew, self._patience_s(grant.ttl_ms))
        except (RedisError, UnfitServer) as failure:
            return Refusal(said_or_lost(failure), f"the old lease stands until its deadline: {failure}")
        if not renewed:
            return _LOST
        deadline_ns = sent_ns + ttl_ms * 1_000_000
        if self.clock.monotonic_ns() >= deadline_ns:
            late = "the renewal took longer than the lease it asked for"
            return Refusal(Outcome.LOST, self._undo(grant.key, grant.owner, ttl_ms, grant.handle, late).reason)
        return replace(grant, ttl_ms=ttl_ms, deadline_ns=deadline_ns)

    def _release(self, grant: Grant) -> Released | Refusal:
        try:
            # Who was granted by a strategy that wakes wakes others; all else is answered by the plain script.
            free = grant.handle.begin_free() if grant.handle else begin_free(grant.key)
            freed, asked_twice = settle(self._link, free + bulk(grant.owner), self._patience_s(grant.ttl_ms))
        except (RedisError, UnfitServer) as failure:
            return Refusal(said_or_lost(failure), f"the key may stay until its TTL: {failure}")
        if freed:
            return RELEASED
        # After a lost reply an absent key proves nothing: the first release freed it, or the lease had run out before.
        return Refusal(Outcome.UNKNOWN, "the reply was lost; the key is not ours now") if asked_twice else _LOST

    def _patience_s(self, ttl_ms: int) -> float:
        return doubt_after_s(self.options.call_timeout_ms, ttl_ms)
