"""Fencing tokens rise with every grant of a key, whoever it goes to and however the last one ended."""

import itertools
import threading
import time
from collections.abc import Callable

from bench.conformance.bounds import AT_ONCE_MS, LAPSE_SLACK_MS, PATIENCE_MS
from bench.conformance.harness import Harness
from bench.conformance.together import together
from bench.systems.base import LockClient, Released

GRANTS = 1_000
CLIENTS = 8


def check_tokens_rise(bench: Harness) -> None:
    """1 000 contended grants to eight clients: each token is a 64-bit number above all before it."""
    key = bench.new_key()
    turns = itertools.count()
    tokens: list[int | None] = []  # appended to by the holder only, so the order is the order of the grants
    served: set[str] = set()
    start = threading.Barrier(CLIENTS)

    def contend(client: LockClient) -> Callable[[], None]:
        def run() -> None:
            start.wait()
            while next(turns) < GRANTS:
                grant = bench.take(client, key)
                assert grant.token is not None, "a system that claims a token granted without one"
                tokens.append(grant.token)
                served.add(client.options.client)
                time.sleep(0.0002)  # pace: hold it, so that the others are asking when it is freed
                assert isinstance(client.release(grant), Released), "a holder's release failed"

        return run

    together([contend(bench.open()) for _ in range(CLIENTS)], 3 * PATIENCE_MS)
    assert len(tokens) == GRANTS, f"{len(tokens)} grants were recorded of {GRANTS}"
    assert len(served) > 1, "all grants went to one client, so nothing is shown about contenders"
    _must_rise(tokens)


def check_tokens_rise_across_expiry(bench: Harness) -> None:
    """The token after a dead holder's is higher too, and so is one after the key was free, and of a renewed grant."""
    key = bench.new_key()
    first, second, dying = bench.open(), bench.open(), bench.spawn(ttl_ms=bench.short_ttl_ms)
    tokens = []
    for client in (first, second):
        grant = bench.take(client, key)
        tokens.append(grant.token)
        assert isinstance(client.release(grant), Released), "a holder's release failed"
    tokens.append(bench.actor_acquires(dying, key)["token"])
    dying.kill()
    grant = bench.take(first, key, bench.lapse_ms + LAPSE_SLACK_MS)
    tokens.append(grant.token)
    first.release(grant)
    tokens.append(bench.take(second, key, AT_ONCE_MS).token)
    _must_rise(tokens)


def check_tokens_rise_after_idle_sessions(bench: Harness) -> None:
    """Nobody holds, queues or is even connected between two grants; the token rises (a restarted count would not)."""
    key = bench.new_key()
    tokens = []
    for _ in range(5):
        with bench.open() as client:
            grant = bench.take(client, key)
            tokens.append(grant.token)
            assert isinstance(client.release(grant), Released), "a holder's release failed"
    _must_rise(tokens)


def _must_rise(tokens: list[int | None]) -> None:
    numbers = [token for token in tokens if token is not None]
    assert len(numbers) == len(tokens), f"a grant without a token among {tokens[:20]}"
    for before, after in itertools.pairwise(numbers):
        assert before < after < 2**63, f"token {after} follows token {before}"
