"""What ends a grant whose holder does not end it, when, and who is notified."""

from concurrent.futures import ThreadPoolExecutor

from bench.conformance.bounds import AT_ONCE_MS, LAPSE_SLACK_MS, PATIENCE_MS, ROUNDING_MS
from bench.conformance.harness import TRY, Harness, eventually, let_pass, now_ms
from bench.conformance.together import Running
from bench.systems.base import Grant, Refusal


def check_crashed_holder_keeps_its_lease_and_no_longer(bench: Harness) -> None:
    """After SIGKILL nobody gets the key before the lease is over, and a waiter and a trier both do soon after.

    One actor holds two keys; a client waits for one and tries the other (amazon-dynamodb-lock-client #29, #44, #93).
    """
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    waiter, trier = bench.open(), bench.open()
    keys = bench.new_key("-waited"), bench.new_key("-tried")
    held = [bench.actor_acquires(holder, key) for key in keys]
    holder.kill()
    looked_ms = now_ms()

    def wait() -> float:
        bench.take(waiter, keys[0], bench.lapse_ms + LAPSE_SLACK_MS)
        return now_ms()

    def keep_trying() -> float:
        def tried() -> bool:
            return isinstance(bench.ask(trier, keys[1], 0, TRY), Grant)

        eventually(tried, bench.lapse_ms + LAPSE_SLACK_MS, "a dead holder's key was never free to a trier")
        return now_ms()

    started = [Running(wait), Running(keep_trying)]
    taken_ms = [running.result(bench.lapse_ms + 2 * LAPSE_SLACK_MS) for running in started]
    for how, grant, at_ms in zip(("waiter", "trier"), held, taken_ms, strict=True):
        if grant["deadline_ns"] is not None:
            earliest_ms = grant["deadline_ns"] / 1e6 - ROUNDING_MS
        else:
            # The adapter knows no deadline: the lease is a session's, whose last heartbeat was our request or later.
            earliest_ms = grant["sent_ns"] / 1e6 + bench.short_ttl_ms - bench.capabilities.ttl_granularity_ms
        assert at_ms >= earliest_ms, (
            f"a {how} got the key {earliest_ms - at_ms:.0f} ms before the dead holder's lease ended"
        )
        late_ms = at_ms - looked_ms
        assert late_ms <= bench.lapse_ms, (
            f"a {how} got a dead holder's key after {late_ms:.0f} ms, not {bench.lapse_ms}"
        )


def check_crashed_holder_frees_at_once(bench: Harness) -> None:
    """Where there is no lease, the lock ends with the connection, and the kernel ends that with the process."""
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    bench.actor_acquires(holder, key)
    bench.must_be_held(key, "the actor")
    holder.kill()
    bench.take(bench.open(), key, AT_ONCE_MS)


def check_killed_at_any_moment_leaves_at_most_a_lease(bench: Harness) -> None:
    """SIGKILL somewhere in a stream of acquires and releases: the key is free within a lease (redis-py #818).

    A client that sets the key and its expiry in two steps leaves it for ever when it dies between them.
    """
    keys = [bench.new_key() for _ in range(3)]
    actors = bench.spawn_all(len(keys), ttl_ms=bench.short_ttl_ms)
    for actor, key in zip(actors, keys, strict=True):
        bench.actor_acquires(actor, key)
        actor.ask("release", key=key)
        actor.send("churn", key=key, timeout_ms=PATIENCE_MS)
    for actor in actors:
        let_pass(37)  # each dies after a different time, at a point of its round trips that nobody chose
        actor.kill()
    killed_ms = now_ms()
    clients = [bench.open() for _ in keys]
    # Side by side: where a waiter counts the lease from its own first look, each key costs it one, however many wait.
    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(lambda client, key: bench.take(client, key, int(bench.lapse_ms + LAPSE_SLACK_MS)), clients, keys))
    waited_ms = now_ms() - killed_ms
    assert waited_ms <= bench.lapse_ms, f"what killed clients left was free after {waited_ms:.0f} ms"


def check_stopped_holder_is_told(bench: Harness) -> None:
    """A holder that was stopped past its lease is notified without asking the server, as soon as it runs again."""
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    bench.actor_acquires(holder, key)
    assert holder.ask("lost", key=key)["reason"] is None, "a holder within its lease is reported to have lost it"
    holder.stop()
    let_pass(bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms + LAPSE_SLACK_MS / 3)
    holder.resume()
    eventually(
        lambda: holder.ask("lost", key=key)["reason"],
        AT_ONCE_MS,
        "a holder stopped past its lease is not notified of the loss",
    )


def check_lease_lost_in_the_queue_is_no_grant(bench: Harness) -> None:
    """A waiter's lease ends while it queues: what it is then next for is not granted to it (etcd #11456, #9921)."""
    holder, waiter = bench.open(), bench.spawn(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    grant = bench.take(holder, key)
    before = len(bench.entries(key))
    waiter.send("acquire", key=key, timeout_ms=PATIENCE_MS)
    eventually(lambda: len(bench.entries(key)) > before, PATIENCE_MS, "the waiter never joined the queue")
    waiter.stop()
    eventually(lambda: len(bench.entries(key)) == before, bench.lapse_ms, "a stopped waiter's entry outlived its lease")
    waiter.resume()
    let_pass(AT_ONCE_MS / 4)  # let it run with the key still held: it must not need the release to find out
    holder.release(grant)
    answer = waiter.receive(PATIENCE_MS)
    assert answer["outcome"] in ("lost", "error", "unknown"), f"a waiter whose lease ended in the queue got {answer}"
    bench.take(bench.open(), key, AT_ONCE_MS)


def check_close_frees_in_time(bench: Harness) -> None:
    """What a closing client still holds is freed as the system frees it: by the end of its lease at the latest."""
    client = bench.open(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    bench.take(client, key)
    client.close()
    answer = bench.ask(bench.open(), key, bench.lapse_ms, bench.wait)
    assert not isinstance(answer, Refusal), f"a closed client's key was still held after its lease: {answer}"
