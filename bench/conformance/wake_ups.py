"""Waiters that are woken, and the wake-up that never arrives."""

from dataclasses import dataclass, replace
from functools import partial

from bench.conformance.bounds import AT_ONCE_MS, OVERRUN_MS
from bench.conformance.harness import Harness, let_pass, now_ms
from bench.conformance.links import warm
from bench.conformance.together import Running
from bench.conformance.wires import Wire
from bench.systems.base import Grant, LockClient, Refusal, Released
from bench.systems.wait import WOKEN, Wait

# Told by a message of their own that they may look. Not so `block` and `lock-timeout`: what wakes them is the reply to
# the acquire itself, and what comes of a lost reply is another check's.
BY_A_MESSAGE = frozenset({*WOKEN, "watch", "herd"} - {"lock-timeout"})
INTERVAL_MS = 400
# Whoever waits is on the way and listens by now, and its next look is not due before the release.
LISTENING_MS = 150
LOST_WITHIN_MS = 50  # the message came and was lost


@dataclass
class _Wait:
    """One waiter behind a wire of its own, the holder it waits for, and how long it may take without its wake-up."""

    wait: Wait
    key: str
    wire: Wire
    holder: LockClient
    grant: Grant
    waiter: LockClient
    within_ms: float


def check_lost_wake_up(bench: Harness) -> None:
    """The message of a release is lost on its way to the waiter: it is granted all the same, after its own next look,
    or within a lease where the session vouches for the message. Nobody sleeps until the timeout.
    """
    waits = [_prepared(bench, wait) for wait in bench.waits if wait.strategy in BY_A_MESSAGE]
    waiting = [Running(partial(_asked, bench, one)) for one in waits]  # all at once: each takes about an interval
    let_pass(LISTENING_MS)
    for one in waits:
        one.wire.swallow_reply(then_sever=False)
    freed_ms = now_ms()
    for one in waits:
        released = one.holder.release(one.grant)
        assert isinstance(released, Released), f"the holder's release said {released}"
    let_pass(LOST_WITHIN_MS)
    for one in waits:
        one.wire.restore()
    for one, started in zip(waits, waiting, strict=True):
        answer, got_ms = started.result(one.within_ms + 2 * OVERRUN_MS)
        assert not isinstance(answer, Refusal), f"a waiter by {one.wait} whose wake-up was lost got {answer}"
        took_ms = got_ms - freed_ms
        assert took_ms <= one.within_ms, (
            f"a waiter by {one.wait} whose wake-up was lost was granted after {took_ms:.0f} ms, "
            f"not within {one.within_ms:.0f}"
        )


def _prepared(bench: Harness, wait: Wait) -> _Wait:
    if wait.strategy in WOKEN:
        wait = replace(wait, interval_ms=float(INTERVAL_MS))
    by_then_ms = wait.interval_ms or bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms
    wire, key, holder = bench.wire(), bench.new_key(), bench.open()  # who waits in a way may release in its way as well
    waiter = bench.open(ttl_ms=bench.short_ttl_ms, via=wire)
    warm(bench, waiter)
    return _Wait(wait, key, wire, holder, bench.take(holder, key, wait=wait), waiter, by_then_ms + AT_ONCE_MS)


def _asked(bench: Harness, one: _Wait) -> tuple[Grant | Refusal, float]:
    return bench.ask(one.waiter, one.key, round(one.within_ms) + OVERRUN_MS, one.wait), now_ms()
