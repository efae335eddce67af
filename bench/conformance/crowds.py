"""Many clients that wait at once, and what the servers keep of them afterwards."""

from collections.abc import Callable, Mapping

from bench.conformance.actors import Actor
from bench.conformance.bounds import AT_ONCE_MS, LONG_TTL_MS, PATIENCE_MS
from bench.conformance.crowd import KILLED
from bench.conformance.harness import Harness, eventually
from bench.systems.base import Outcome, Released
from bench.systems.wait import Wait

GRANTED, TIMED_OUT, INTERRUPTED = 8, 32, 24
WAITERS = GRANTED + TIMED_OUT + INTERRUPTED
TIMEOUT_MS = 250


def check_many_waiters_leave_nothing(bench: Harness) -> None:
    """64 clients wait for one key, by each way of waiting. Some are granted, some time out, some are interrupted, and
    all are closed: then the servers keep nothing of them, as far as they tell. On servers that others use meanwhile,
    what those begin is counted as well.
    """
    actor = bench.spawn(ttl_ms=LONG_TTL_MS, greenlets=True)
    for wait in bench.waits:
        _gather_and_disperse(bench, actor, wait)


def _gather_and_disperse(bench: Harness, actor: Actor, wait: Wait) -> None:
    interrupted = INTERRUPTED if bench.capabilities.nodes else 0  # in this process they are threads
    patience_ms = [PATIENCE_MS] * interrupted + [TIMEOUT_MS] * (WAITERS - GRANTED - interrupted)
    patience_ms += [PATIENCE_MS] * GRANTED
    key, before = bench.new_key(), bench.presence()
    holder = bench.open()
    grant = bench.take(holder, key, wait=wait)
    actor.ask("gather", key=key, wait=str(wait), patience_ms=patience_ms)
    _must_be_seen(before, bench.presence(), wait)
    actor.ask("interrupt", count=interrupted)
    released = holder.release(grant)
    assert isinstance(released, Released), f"the holder, with {WAITERS} waiters by {wait}: {released}"
    answers = actor.ask("disperse")["answers"]
    holder.close()
    allowed = {KILLED, str(Outcome.TIMEOUT), str(Outcome.RELEASED)}
    assert answers.keys() <= allowed, f"{WAITERS} waiters by {wait} said {answers}"
    assert answers.get(Outcome.RELEASED, 0) >= GRANTED, f"of {WAITERS} waiters by {wait}, {answers}"
    assert answers.get(KILLED, 0) == interrupted, f"{interrupted} waiters by {wait} were killed: {answers}"
    # Some wake-ups may stand for an interval.
    within_ms = AT_ONCE_MS + 2 * wait.interval_ms
    _must_go(lambda: bench.entries(key), within_ms, f"{WAITERS} waiters by {wait} left")
    _must_go(
        lambda: _more(before, bench.presence()), within_ms, f"of {WAITERS} closed waiters by {wait} the servers keep"
    )


def _must_go(look: Callable[[], object], within_ms: float, what: str) -> None:
    """AssertionError with what is still there when the time is up."""
    last: list[object] = []

    def is_gone() -> bool:
        last[:] = [look()]
        return not last[0]

    try:
        eventually(is_gone, within_ms, what)
    except AssertionError:
        raise AssertionError(f"{what} {last[0]}") from None


def _more(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    return {name: count - before.get(name, 0) for name, count in now.items() if count > before.get(name, 0)}


def _must_be_seen(before: Mapping[str, int], during: Mapping[str, int], wait: Wait) -> None:
    """A look that does not see them while they are there would see none of what they leave."""
    seen = max(_more(before, during).values(), default=0)
    assert not during or seen >= WAITERS, f"{WAITERS} waiters by {wait} are not seen by the servers: {during}"
