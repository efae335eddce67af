"""`blpop`: the release pushes one wake-up onto the key's list, and one of those who pop there gets it."""

from typing import Any

from bench.systems.redis.scripts import command
from bench.systems.redis.woken import scripts
from bench.systems.redis.woken.ear import NOTHING
from bench.systems.redis.woken.waiter import Waiter

_SHORTEST_MS = 1.0  # BLPOP takes 0 for "for ever"


class Blpop(Waiter):
    """Pops with the interval as the server's time limit. A wake-up that came before the pop is in the list still."""

    def begin_take(self, ttl_ms: int, last: bool) -> bytes:
        return scripts.begin_take_and_call_off(self.key, ttl_ms)

    def begin_free(self) -> bytes:
        return scripts.begin_free_and_push(self.key, round(max(self.interval_ms, _SHORTEST_MS)))

    def listen(self, within_s: float) -> None:
        """The server ends a pop up to 0.1 s late (its `hz`). A waiter that has less time than an interval left ends it
        by ending the connection, and looks after that: so a wake-up that it popped last is not lost."""
        interval_s = max(self.interval_ms, _SHORTEST_MS) / 1000.0
        self._ear.send(command("BLPOP", scripts.wake_ups(self.key), f"{interval_s:.3f}"))
        answered_s = interval_s + self._patience_s if within_s >= interval_s else within_s
        if self._ear.hear(self._is_popped, answered_s) is NOTHING:
            self.fall_deaf()

    def _is_popped(self, reply: Any) -> bool:
        return reply is None or (isinstance(reply, list) and reply[:1] == [scripts.wake_ups(self.key).encode()])
