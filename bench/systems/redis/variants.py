"""Locks as often printed, each with one fault: kept to be measured, beside the one that has neither."""

from dataclasses import replace

from redis.exceptions import RedisError

from bench.systems.base import RELEASED, Grant, Outcome, Refusal, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.refusals import said_or_lost
from bench.systems.redis.scripts import around_owner_of_set, bulk, command, names
from bench.systems.redis.session import UnfitServer
from bench.systems.wait import POLLING

_AS_PRINTED = ("try", *POLLING)  # nobody is woken by them


class PlainDeleteRedisLock(RedisLock):
    """Releases by a plain DEL, as often printed: whoever holds the key by then loses it to a holder that came late."""

    capabilities = replace(RedisLock.capabilities, wait_strategies=_AS_PRINTED)
    _deleted: Released | Refusal

    def release(self, grant: Grant) -> Released | Refusal:
        """As printed: whether the lease was over counts for nothing, and the answer is what the DEL did."""
        super().release(grant)
        return self._deleted

    def _release(self, grant: Grant) -> Released | Refusal:
        self._deleted = self._delete(names(grant.key)[0])
        return self._deleted

    def _delete(self, name: str) -> Released | Refusal:
        try:
            self._link.open()
            deleted = self._link.call(command("DEL", name))
        except (RedisError, UnfitServer) as failure:  # not asked again: the second DEL could free another's lock
            return Refusal(said_or_lost(failure), f"the key may stay until its TTL: {failure}")
        return RELEASED if deleted else Refusal(Outcome.LOST, "the key is gone")


class NaiveFenceRedisLock(RedisLock):
    """INCR, then SET NX, as often printed: between the two, a client with a larger number can come, hold and leave."""

    capabilities = replace(
        RedisLock.capabilities,
        fencing_source="INCR of a counter, before SET NX, in two round trips",
        token_rises=False,
        wait_strategies=_AS_PRINTED,
        acquire_round_trips=2,
        acquire_durable_writes=2,  # each of the two is flushed before its own reply
    )

    def _take(self, key: str, ttl_ms: int, owner: str, begin: bytes) -> int:
        token = self._draw(key)
        before, after = around_owner_of_set(key, ttl_ms)
        return token if self._link.call(before + bulk(owner) + after) else 0

    def _draw(self, key: str) -> int:
        token: int = self._link.call(command("INCR", names(key)[1]))
        return token
