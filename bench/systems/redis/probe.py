"""`redis-set`: one SET NX PX for each call, over the lock's own link. No lock: what `lockbench calibrate` compares.

`redis-benchmark` repeats a single command. To compare like with like, acquire and release each send that same command,
on a key that nobody has used: each call is one command and one reply, and each stores a key with an expiry. A key that
exists would be answered without that work.
"""

import secrets
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import ClassVar

from redis.exceptions import RedisError

from bench.systems.base import RELEASED, Capabilities, Grant, Outcome, Refusal, Released
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.scripts import bulk, command
from bench.systems.redis.session import UnfitServer
from bench.systems.wait import Wait

TTL_MS = 10_000
VALUE = "lockbench-set"
# Both sides send as many bytes: redis-benchmark replaces __rand_int__ by twelve digits, here the count of a client's
# calls stands there, and in place of the dots twelve hexadecimal digits that no other client has.
NATIVE_KEY = "lockbench-set:............:__rand_int__"


class SetProbe(RedisLock):
    """Excludes nobody. An error when a key existed, which would be less work than was meant."""

    capabilities: ClassVar[Capabilities] = replace(
        RedisLock.capabilities, fencing_source=None, token_rises=False, wait_strategies=("try",)
    )

    def _connect(self) -> None:
        super()._connect()
        self._numbers: Iterator[int] = count()
        # Packed once, but for the twelve digits in the middle, as redis-benchmark does it.
        before = command("SET", to_come=5) + bulk(f"lockbench-set:{secrets.token_hex(6)}:{0:012d}")
        self._before = before[: -len(b"000000000000\r\n")]
        self._after = b"\r\n" + b"".join(map(bulk, (VALUE, "NX", "PX", str(TTL_MS))))

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        return self._set() or Grant(key, VALUE, None, ttl_ms, None)

    def _release(self, grant: Grant) -> Released | Refusal:
        return self._set() or RELEASED

    def _set(self) -> Refusal | None:
        try:
            self._link.open()
            stored = self._link.call(b"%b%012d%b" % (self._before, next(self._numbers), self._after))
        except (RedisError, UnfitServer) as failure:
            return Refusal(Outcome.ERROR, str(failure))
        return None if stored else Refusal(Outcome.ERROR, "the key exists already")
