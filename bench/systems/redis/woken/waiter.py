"""How one client waits for one key until it is woken, or an interval has passed: what all strategies share."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.clock import Clock
from bench.systems.polling import timed_out
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import begin_take
from bench.systems.redis.woken.ear import Ear
from bench.systems.wait import Wait

_NS_PER_S = 1_000_000_000


class Waiter(ABC):
    """One acquire by one strategy. It is the grant's handle afterwards: who was granted so wakes others at the release.

    `patience_s`: how long the server may take to answer on the ear, before that connection is given up.
    """

    keeps_a_place = False  # on the server, from one look to the next

    def __init__(self, key: str, owner: str, wait: Wait, ear: Ear, patience_s: float) -> None:
        self.key, self.owner, self.interval_ms = key, owner, wait.interval_ms
        self._ear, self._patience_s = ear, patience_s

    def begin_take(self, ttl_ms: int, last: bool) -> bytes:
        """The script that takes a free key, up to the owner value. `last`: this waiter will not ask again."""
        return begin_take(self.key, ttl_ms)

    @abstractmethod
    def begin_free(self) -> bytes:
        """The script that frees what is ours, and wakes, up to the owner value."""

    @abstractmethod
    def listen(self, within_s: float) -> None:
        """Until woken, or for so long at most. Raises RedisError."""

    def unsubscribe(self, *, confirmed: bool) -> None:
        """Have the server end what it does to wake us; `confirmed`: until it has. Raises RedisError."""
        return  # where nothing outlives `listen`

    def fall_deaf(self) -> None:
        """End the connection on which it is woken, and with it whatever was asked for there."""
        self._ear.drop()


def ask_when_woken(
    clock: Clock,
    waiter: Waiter,
    timeout_ms: int,
    attempt: Callable[[bool], Grant | Refusal],
    undo: Callable[[str], Refusal],
) -> Grant | Refusal:
    """Attempt, and again whenever the waiter is woken or its interval is over, while the key is busy.

    The last attempt, which is told that it is, comes when the time is over. It also uses a wake-up that came just then:
    the key is free, and taken, or held by one who will wake others. An error is undone where a place may stand.
    """
    give_up_ns, asked, last = clock.monotonic_ns() + timeout_ms * 1_000_000, 0, False
    while True:
        last = clock.monotonic_ns() >= give_up_ns
        answer = attempt(last)
        asked += 1
        if isinstance(answer, Grant) or answer.outcome is not Outcome.BUSY:
            break
        if last:
            answer = timed_out(timeout_ms, asked)
            break
        left_s = (give_up_ns - clock.monotonic_ns()) / _NS_PER_S
        try:
            _pause(clock, waiter, min(waiter.interval_ms / 1000.0, left_s))
        except ErrorReply as refusal:
            answer = Refusal(Outcome.ERROR, str(refusal))
            break
    try:
        waiter.unsubscribe(confirmed=isinstance(answer, Refusal))
    except RedisError:
        waiter.fall_deaf()
    if waiter.keeps_a_place and isinstance(answer, Refusal) and answer.outcome is Outcome.ERROR:
        return undo(answer.reason)
    return answer


def _pause(clock: Clock, waiter: Waiter, within_s: float) -> None:
    """Until woken. A waiter that cannot be woken looks by itself after its interval, neither earlier nor never."""
    until_ns = clock.monotonic_ns() + round(within_s * _NS_PER_S)
    try:
        waiter.listen(within_s)
    except ErrorReply:
        raise
    except RedisError:
        with suppress(RedisError):
            waiter.fall_deaf()
        clock.sleep(max(0, until_ns - clock.monotonic_ns()) / _NS_PER_S)
