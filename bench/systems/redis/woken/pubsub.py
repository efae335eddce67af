"""`pubsub`: the release publishes on the key's channel, and whoever waits there looks."""

from typing import Any

from redis.exceptions import TimeoutError as RedisTimeout

from bench.systems.redis.scripts import command
from bench.systems.redis.woken import scripts
from bench.systems.redis.woken.ear import NOTHING
from bench.systems.redis.woken.waiter import Waiter


class PubSub(Waiter):
    """Subscribed when it listens for the first time, and again after each interval without a message.

    After either it looks at once: what was freed before the server confirmed the subscription woke nobody. Doing so
    anew each interval also finds out a connection that fell silent.
    """

    _subscribed = False
    _sure = False  # that a message would reach us

    def begin_free(self) -> bytes:
        return scripts.begin_free_and_publish(self.key)

    def channel(self) -> str:
        """Where the wake-up comes."""
        return scripts.channel(self.key)

    def listen(self, within_s: float) -> None:
        if self._sure:
            self._sure = False  # unless it is heard from
            self._sure = self._ear.hear(self._is(b"message"), within_s) is not NOTHING
            return
        self._subscribed = True
        self._ear.send(command("SUBSCRIBE", self.channel()))
        self._await(b"subscribe")
        self._sure = True

    def unsubscribe(self, *, confirmed: bool) -> None:
        if self._subscribed and self._ear.is_open():
            self._ear.send(command("UNSUBSCRIBE", self.channel()))
            if confirmed:
                self._await(b"unsubscribe")

    def _await(self, word: bytes) -> None:
        if self._ear.hear(self._is(word), self._patience_s) is NOTHING:
            raise RedisTimeout(f"no {word.decode()} of {self.channel()} within {self._patience_s:g} s")

    def _is(self, word: bytes) -> Any:
        channel = self.channel().encode()
        return lambda reply: isinstance(reply, list) and reply[:2] == [word, channel]
