"""Waiting by asking again: the strategies `try`, `poll` and `backoff` over any single attempt."""

from collections.abc import Callable

from bench.systems.base import Grant, Outcome, Refusal
from bench.systems.clock import Clock
from bench.systems.wait import Wait


def ask_until(
    clock: Clock,
    wait: Wait,
    timeout_ms: int,
    attempt: Callable[[], Grant | Refusal],
    go_on_after: frozenset[Outcome] = frozenset({Outcome.BUSY}),
) -> Grant | Refusal:
    """Attempt once (`try`), or again after each pause of the strategy while the outcome allows it.

    The last attempt is made when the time is over, not one pause earlier. If that is busy, the wait has timed out; an
    attempt that was busy left nothing behind, so the timeout leaves nothing either. Every other refusal stays itself.
    """
    give_up_ns = clock.monotonic_ns() + timeout_ms * 1_000_000
    answer = attempt()
    if isinstance(answer, Grant) or wait.strategy == "try":
        return answer
    asked = 1
    for pause_s in wait.pauses_s():
        if isinstance(answer, Grant) or answer.outcome not in go_on_after:
            break
        left_ns = give_up_ns - clock.monotonic_ns()
        if left_ns <= 0:
            if answer.outcome is Outcome.BUSY:
                return timed_out(timeout_ms, asked)
            break
        clock.sleep(min(pause_s, left_ns / 1e9))
        answer = attempt()
        asked += 1
    return answer


def timed_out(timeout_ms: int, asked: int) -> Refusal:
    """The answer to a waiter whose last attempt found the key held."""
    return Refusal(Outcome.TIMEOUT, f"held by another owner for {timeout_ms} ms; asked {asked} times")
