"""How a wait begins, ends and leaves nothing behind."""

import threading
from functools import partial

from bench.conformance.bounds import AT_ONCE_MS, OVERRUN_MS, PATIENCE_MS, ROUNDING_MS
from bench.conformance.harness import TRY, Harness, eventually, let_pass, now_ms
from bench.conformance.together import Running
from bench.systems.base import LockClient, Outcome, Refusal, Released


def check_try_on_a_held_key_is_busy_at_once(bench: Harness) -> None:
    """A try asks once and says busy, with the options' default lease too (sherlock: no expiry given, both granted)."""
    holder, other = bench.open(), bench.open()
    key = bench.new_key()
    bench.take(holder, key)
    for _ in range(5):
        asked_ms = now_ms()
        answer = bench.ask(other, key, PATIENCE_MS, TRY)
        took_ms = now_ms() - asked_ms
        assert isinstance(answer, Refusal), "a try on a held key was granted"
        assert answer.outcome is Outcome.BUSY, f"a try on a held key said {answer}"
        assert took_ms < AT_ONCE_MS, f"a try on a held key took {took_ms:.0f} ms"


def check_timeout_is_kept(bench: Harness) -> None:
    """Every way of waiting ends as a timeout, not before it is due and not much later; zero is a timeout too."""
    holder, other = bench.open(), bench.open()
    key = bench.new_key()
    bench.take(holder, key)
    for wait in bench.waits:
        for timeout_ms in (0, 300):
            asked_ms = now_ms()
            waiting = Running(partial(bench.ask, other, key, timeout_ms, wait))
            answer = waiting.result(timeout_ms + OVERRUN_MS)
            took_ms = now_ms() - asked_ms
            assert isinstance(answer, Refusal), f"a wait by {wait} on a held key was granted"
            assert answer.outcome is Outcome.TIMEOUT, f"a wait by {wait} for {timeout_ms} ms said {answer}"
            # A poller may stop one interval early: its next look would come after the timeout.
            earliest_ms = timeout_ms - ROUNDING_MS - (wait.interval_ms if wait.strategy == "poll" else 0)
            assert took_ms >= earliest_ms, f"a wait by {wait} for {timeout_ms} ms ended after {took_ms:.0f} ms"


def check_timeouts_leave_nothing(bench: Harness) -> None:
    """A hundred timed-out waits of each kind leave the servers' entries as they were, and the next grant comes at once.

    Reported as aiozk #34 and spring-integration #2557.
    """
    holder, other = bench.open(), bench.open()
    for wait in [*bench.waits, TRY]:
        key = bench.new_key()
        grant = bench.take(holder, key)
        before = bench.entries(key)
        assert before, f"the look into the store finds nothing for a held key {key}"
        for _ in range(100):
            answer = bench.ask(other, key, 5, wait)
            assert isinstance(answer, Refusal), f"a wait by {wait} on a held key was granted"
            assert answer.outcome in (Outcome.TIMEOUT, Outcome.BUSY), f"a wait by {wait} said {answer}"
        after = bench.entries(key)
        assert len(after) == len(before), f"100 waits by {wait} that timed out left {after} where {before} was"
        assert isinstance(holder.release(grant), Released), "the holder could not release"
        asked_ms = now_ms()
        answer = bench.ask(other, key, AT_ONCE_MS, wait)
        assert not isinstance(answer, Refusal), f"after 100 timed-out waits by {wait}, the free key was {answer}"
        assert now_ms() - asked_ms < AT_ONCE_MS, f"the free key took {now_ms() - asked_ms:.0f} ms"
        other.release(answer)


def check_handoffs_are_prompt(bench: Harness) -> None:
    """200 hand-offs between two clients, the release racing with the set-up of the wait; none is slept through.

    A client that registers its watch after looking, or misses the event, waits for its timeout instead (Redisson #5761,
    python-etcd3 #1107).
    """
    clients = [bench.open(), bench.open()]
    key, handoffs = bench.new_key(), 200
    grant = bench.take(clients[0], key)
    for turn in range(handoffs):
        holder, waiter = clients[turn % 2], clients[(turn + 1) % 2]
        asking = threading.Event()

        def wait_for_it(waiter: LockClient = waiter, asking: threading.Event = asking) -> tuple[object, float]:
            asking.set()
            answer = bench.ask(waiter, key, PATIENCE_MS, bench.wait)
            return answer, now_ms()

        waiting = Running(wait_for_it)
        asking.wait(PATIENCE_MS / 1000)
        let_pass(turn % 20 * 0.25)  # 0 to 4.75 ms: before, during and after the round trips of the wait's set-up
        freed_ms = now_ms()
        assert isinstance(holder.release(grant), Released), f"hand-off {turn}: the holder could not release"
        answer, got_ms = waiting.result(PATIENCE_MS)
        assert not isinstance(answer, Refusal), f"hand-off {turn}: the waiter got {answer}"
        grant = answer  # type: ignore[assignment]
        assert got_ms - freed_ms < AT_ONCE_MS, (
            f"hand-off {turn} took {got_ms - freed_ms:.0f} ms: the release was missed"
        )


def check_queue_order_is_kept(bench: Harness) -> None:
    """Where the system claims first in, first out: four clients that joined one after the other are served so."""
    key = bench.new_key()
    wait = next(wait for wait in bench.waits if wait.strategy in ("watch", "block"))
    holder, waiters = bench.open(), [bench.open() for _ in range(4)]
    grant = bench.take(holder, key)
    served: list[int] = []

    def queue(place: int) -> object:
        mine = bench.take(waiters[place], key, wait=wait)
        served.append(place)
        return waiters[place].release(mine)

    queued = []
    for place in range(len(waiters)):
        before = len(bench.entries(key))
        queued.append(Running(partial(queue, place)))
        eventually(partial(_longer, bench, key, before), PATIENCE_MS, f"waiter {place} never queued")
    holder.release(grant)
    for started in queued:
        assert isinstance(started.result(PATIENCE_MS), Released), "a waiter could not release"
    assert served == sorted(served), f"clients that queued as 0, 1, 2, 3 were served as {served}"


def _longer(bench: Harness, key: str, before: int) -> bool:
    return len(bench.entries(key)) > before


def _pass_through(bench: Harness, client: LockClient, key: str) -> object:
    return client.release(bench.take(client, key))


def check_waiters_all_wake(bench: Harness) -> None:
    """Several queue behind one holder; one release lets all of them through, one after the other."""
    key = bench.new_key()
    holder, waiters = bench.open(), [bench.open() for _ in range(4)]
    grant = bench.take(holder, key)
    passing = [Running(partial(_pass_through, bench, client, key)) for client in waiters]
    let_pass(100)  # let them all be on their way into the queue
    assert isinstance(holder.release(grant), Released), "the holder could not release"
    answers = [started.result(len(waiters) * AT_ONCE_MS) for started in passing]
    assert all(isinstance(answer, Released) for answer in answers), f"waiters ended with {answers}"
