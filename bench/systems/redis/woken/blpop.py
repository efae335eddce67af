"""`blpop`: the release pushes one wake-up onto the key's list, and one of those who pop there gets it."""

from typing import Any

from bench.systems.redis.scripts import command
from bench.systems.redis.woken import scripts
from bench.systems.redis.woken.ear import NOTHING
from bench.systems.redis.woken.waiter import Waiter

_SHORTEST_MS = 1.0  # BLPOP takes 0 for "for ever"


class Blpop(Waiter):
    """Pops with the interval as the server's time limit, and pops on while it looks by itself.

    A wake-up that came before the pop is in the list still. The last look comes after the end of the last pop, so it
    uses what that popped.
    """

    _popping = False

    def begin_take(self, ttl_ms: int, last: bool) -> bytes:
        if last:
            self.unsubscribe(confirmed=False)
        return scripts.begin_take_and_call_off(self.key, ttl_ms)

    def begin_free(self) -> bytes:
        return scripts.begin_free_and_push(self.key, round(max(self.interval_ms, _SHORTEST_MS)))

    def listen(self, within_s: float) -> None:
        before = self._popping = self._popping and self._ear.is_open()
        until_ns = self._ear.now_ns() + round(within_s * 1e9)
        while (left_ns := until_ns - self._ear.now_ns()) > 0:
            if not self._popping:
                self._popping = True
                self._ear.send(self._pop())
            reply = self._ear.hear(self._is_popped, left_ns / 1e9)
            if reply is NOTHING:
                break
            self._popping = before = False
            if reply is not None:
                return
        if before:  # a pop from before this whole interval is still without a reply: the connection fell silent
            self.unsubscribe(confirmed=False)

    def unsubscribe(self, *, confirmed: bool) -> None:
        """A pop ends with its connection: the server itself would end it up to 0.1 s late (its `hz`)."""
        if self._popping:
            self.fall_deaf()
            self._popping = False

    def _pop(self) -> bytes:
        return command("BLPOP", scripts.wake_ups(self.key), f"{max(self.interval_ms, _SHORTEST_MS) / 1000.0:.3f}")

    def _is_popped(self, reply: Any) -> bool:
        return reply is None or (isinstance(reply, list) and reply[:1] == [scripts.wake_ups(self.key).encode()])
