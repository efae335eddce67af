"""One holder a key, and keys that have nothing to do with each other."""

import itertools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.conformance.bounds import AT_ONCE_MS, LONG_TTL_MS, PATIENCE_MS
from bench.conformance.harness import Harness, now_ms
from bench.conformance.together import Running, together
from bench.systems.base import LockClient, Refusal, Released


def check_threads_exclude_each_other(bench: Harness) -> None:
    """Four clients raise an unguarded counter; no increment is lost, and no two holds overlap in time."""
    key, rounds = bench.new_key(), 25
    counter = [0]
    holds: list[tuple[int, int]] = []

    def work(client: LockClient) -> Callable[[], None]:
        def run() -> None:
            for _ in range(rounds):
                grant = bench.take(client, key)
                began_ns = time.monotonic_ns()
                seen = counter[0]
                time.sleep(0.001)  # pace: room for a second holder to read the same number
                counter[0] = seen + 1
                holds.append((began_ns, time.monotonic_ns()))
                released = client.release(grant)
                assert isinstance(released, Released), f"a holder's release said {released}"

        return run

    clients = [bench.open() for _ in range(4)]
    together([work(client) for client in clients], PATIENCE_MS)
    expected = rounds * len(clients)
    assert counter[0] == expected, f"{expected - counter[0]} of {expected} increments were lost: two held {key} at once"
    ordered = sorted(holds)
    for before, after in itertools.pairwise(ordered):
        assert before[1] <= after[0], f"two clients held {key} at once for {(before[1] - after[0]) / 1e6:.3f} ms"


def check_processes_exclude_each_other(bench: Harness) -> None:
    """Three processes raise a counter in a file by read, pause and write; no increment is lost."""
    rounds = 20
    with TemporaryDirectory() as folder:
        path = Path(folder) / "counter"
        path.write_text("0")
        actors = bench.spawn_all(3, ttl_ms=LONG_TTL_MS, processes=True)
        key = bench.new_key()
        for actor in actors:
            actor.send("count", key=key, rounds=rounds, path=str(path), timeout_ms=PATIENCE_MS)
        for actor in actors:
            answer = actor.receive(2 * PATIENCE_MS)
            assert answer["outcome"] == "counted", f"a contender got {answer}"
        counted, expected = int(path.read_text() or 0), rounds * len(actors)
        assert counted == expected, f"{expected - counted} of {expected} increments were lost between processes"


def check_eight_contenders_all_get_it(bench: Harness) -> None:
    """Eight clients want one key at once; every one gets it, and none dies of an exception (python-etcd3 #2149)."""
    key = bench.new_key()
    clients = [bench.open() for _ in range(8)]
    start = threading.Barrier(len(clients))

    def turn(client: LockClient) -> Callable[[], None]:
        def run() -> None:
            start.wait()
            for _ in range(3):
                grant = bench.take(client, key)
                time.sleep(0.001)  # pace: hold it, so that the others meet a held key
                assert isinstance(client.release(grant), Released), "a holder's release failed"

        return run

    together([turn(client) for client in clients], PATIENCE_MS)


def check_keys_are_independent(bench: Harness) -> None:
    """While one client holds A, another gets B at once."""
    holder, other = bench.open(), bench.open()
    key_a, key_b = bench.new_key("-a"), bench.new_key("-b")
    bench.take(holder, key_a)
    asked_ms = now_ms()
    answer = bench.ask(other, key_b)
    assert not isinstance(answer, Refusal), f"a try on a free key said {answer} while another key was held"
    assert now_ms() - asked_ms < AT_ONCE_MS, f"a free key took {now_ms() - asked_ms:.0f} ms while another was held"


def check_calls_overlap(bench: Harness) -> None:
    """While one client waits for A, another client of the same process gets and frees B: no hidden common lock."""
    holder, waiter, other = bench.open(), bench.open(), bench.open()
    key_a, key_b = bench.new_key("-a"), bench.new_key("-b")
    grant = bench.take(holder, key_a)
    waiting = Running(lambda: bench.ask(waiter, key_a, 3 * AT_ONCE_MS, bench.wait))
    began = Running(lambda: other.release(bench.take(other, key_b)))
    answer = began.result(2 * AT_ONCE_MS)
    assert isinstance(answer, Released), f"a release of an unrelated key said {answer}"
    assert waiting.running(), "the waiter came back too early to have overlapped with anything"
    holder.release(grant)
    waiting.result(PATIENCE_MS)
