"""`queue`: waiters stand in line, and only the first of them may take a free key, as in Redisson's fair lock."""

from bench.systems.redis.woken import scripts
from bench.systems.redis.woken.pubsub import PubSub

PLACE_INTERVALS = 3  # a waiter that did not look for so long is passed over


class Queue(PubSub):
    """Its first look that finds the key busy gives it a place, each further one keeps it, and the last takes it away.

    The release wakes the first in line alone, on that waiter's own channel.
    """

    keeps_a_place = True

    def begin_take(self, ttl_ms: int, last: bool) -> bytes:
        place_ms = 0 if last else round(PLACE_INTERVALS * max(self.interval_ms, 1.0))
        return scripts.begin_take_in_turn(self.key, ttl_ms, place_ms)

    def begin_free(self) -> bytes:
        return scripts.begin_leave_line(self.key)

    def channel(self) -> str:
        return scripts.turn(self.key) + self.owner
