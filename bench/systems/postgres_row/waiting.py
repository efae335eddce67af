"""How a lock's session waits: it asks again, blocks on the server, blocks in slices, or is told of a release."""

import hashlib
import math
from collections.abc import Callable

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.clock import Clock
from bench.systems.polling import ask_until, timed_out
from bench.systems.postgres_row.session import Session
from bench.systems.wait import Wait

BLOCK, IN_SLICES, NOTIFY = "block", "lock-timeout", "notify"
OWN_WAYS = (BLOCK, IN_SLICES, NOTIFY)
_NS_PER_MS = 1_000_000
Ask = Callable[[int], Grant | Refusal]  # one attempt, which waits on the server for up to so many ms; 0: it passes over


def channel_of(key: str) -> str:
    """Where a release of the key is told: the same name in every process, of a length that PostgreSQL takes (63).

    Two keys of one name would only wake each other's waiters.
    """
    return f"lockbench_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def until_granted(
    clock: Clock, wait: Wait, timeout_ms: int, ask: Ask, session: Callable[[], Session], channel: str, call_s: float
) -> Grant | Refusal:
    """Ask in the way of `wait`. `session` is the one that the last attempt was made by; `call_s` bounds one call.

    Raises SessionLost or StatementFailed, with nothing granted, where the server does not take a subscription or its
    end: the session may be subscribed then.
    """
    if wait.strategy == NOTIFY:
        return _when_notified(clock, wait, timeout_ms, ask, session, channel, call_s)
    if wait.strategy == IN_SLICES:
        return _in_slices(clock, wait, timeout_ms, ask)
    block_ms = timeout_ms if wait.strategy == BLOCK else 0  # to block for 0 ms is to try
    return ask_until(clock, wait, timeout_ms, lambda: ask(block_ms))


def _in_slices(clock: Clock, wait: Wait, timeout_ms: int, ask: Ask) -> Grant | Refusal:
    """Block for an interval at most, again and again. The last slice ends when the time is over."""
    give_up_ns = clock.monotonic_ns() + timeout_ms * _NS_PER_MS
    slice_ms, asked = math.ceil(wait.interval_ms), 0
    while True:
        left_ms = math.ceil((give_up_ns - clock.monotonic_ns()) / _NS_PER_MS)
        answer = ask(max(0, min(slice_ms, left_ms)))
        asked += 1
        if isinstance(answer, Grant) or answer.outcome not in (Outcome.TIMEOUT, Outcome.BUSY):
            return answer
        if clock.monotonic_ns() >= give_up_ns:
            return timed_out(timeout_ms, asked)


def _when_notified(
    clock: Clock, wait: Wait, timeout_ms: int, ask: Ask, session: Callable[[], Session], channel: str, call_s: float
) -> Grant | Refusal:
    """Ask, subscribe, ask again, and then after each notification or interval. One who asks no more is not subscribed.

    Asked again after subscribing: what was told in between was told to nobody. An attempt may have been made by a new
    session, which is not subscribed. Whoever is granted stays subscribed until the release, whose round trip ends it.
    """
    give_up_ns = clock.monotonic_ns() + timeout_ms * _NS_PER_MS
    subscribed: Session | None = None
    answer, asked = ask(0), 1
    while isinstance(answer, Refusal) and answer.outcome is Outcome.BUSY:
        left_ms = (give_up_ns - clock.monotonic_ns()) / _NS_PER_MS
        if left_ms <= 0:
            answer = timed_out(timeout_ms, asked)
        else:
            if subscribed is not (current := session()):
                current.ask(f'LISTEN "{channel}"', within_s=call_s)
                subscribed = current
            else:
                subscribed.until_notified(min(wait.interval_ms, left_ms) / 1000)
            answer = ask(0)
            asked += 1
    if isinstance(answer, Refusal) and subscribed is session() and not subscribed.closed:
        subscribed.ask("UNLISTEN *", within_s=call_s)
    return answer
