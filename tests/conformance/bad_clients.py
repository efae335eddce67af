"""Clients of real systems with one fault each, for checks of what `faulty` does not have: processes, sessions."""

from unittest.mock import patch

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.etcd.lock import EtcdLock
from bench.systems.etcd.turn import Turn
from bench.systems.redis.lock import RedisLock
from bench.systems.wait import Wait

_DAY_MS = 86_400_000


class TwoStepRedisLock(RedisLock):
    """Takes the key first and sets its expiry after that, as early clients did with SETNX and EXPIRE."""

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        answer = super()._acquire(key, _DAY_MS, timeout_ms, wait)
        if isinstance(answer, Refusal):
            return answer
        self.clock.sleep(0.02)  # pace: the step between the steps, long enough to be killed in
        return self._renew(answer, ttl_ms)


class UntidyEtcdLock(EtcdLock):
    """Leaves its queue entry behind when an exception ends its acquire."""

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        with patch.object(Turn, "vanish", lambda _turn: None):
            return super()._acquire(key, ttl_ms, timeout_ms, wait)


class CredulousEtcdLock(EtcdLock):
    """Believes that it holds the lock when its own queue entry is gone after the wait."""

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        answer = super()._acquire(key, ttl_ms, timeout_ms, wait)
        if isinstance(answer, Refusal) and answer.outcome is Outcome.LOST:
            return Grant(key, self._next_owner(), None, ttl_ms, None)
        return answer
