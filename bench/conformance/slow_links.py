"""Clients whose servers are slow, late, or partly absent."""

from bench.conformance.bounds import AT_ONCE_MS, BAD_WIRE_CALL_MS, LONG_TTL_MS, OVERRUN_MS, PATIENCE_MS
from bench.conformance.harness import TRY, Harness, eventually, let_pass, now_ms
from bench.conformance.links import CLEAN_UP_CALLS, warm
from bench.conformance.together import Running
from bench.systems.base import Grant, Outcome, Refusal, Released


def check_slow_acquire_is_not_stale(bench: Harness) -> None:
    """A grant that takes longer to arrive than its own lease is not handed out, and is undone (redsync #72)."""
    ttl_ms = bench.short_ttl_ms
    wire = bench.wire()
    client = bench.open(ttl_ms=ttl_ms, via=wire, call_timeout_ms=3 * ttl_ms, patient=True)
    warm(bench, client)
    key = bench.new_key()
    wire.delay(ttl_ms + ttl_ms // 4)
    answer = Running(lambda: bench.ask(client, key)).result(CLEAN_UP_CALLS * 3 * ttl_ms + OVERRUN_MS)
    if isinstance(answer, Grant):
        raise AssertionError(f"a grant was handed out after its lease of {ttl_ms} ms: {client.lost(answer) or answer}")
    assert answer.outcome is not Outcome.BUSY, "a slow acquire was reported as busy: nobody else holds the key"
    wire.restore()
    bench.take(bench.open(), key, bench.lapse_ms)


def check_deadline_counts_from_the_sending(bench: Harness) -> None:
    """A slow request's lease is counted from before it was sent: counted from the reply, it would end too late."""
    delay_ms = BAD_WIRE_CALL_MS // 2
    wire = bench.wire()
    client = bench.open(ttl_ms=LONG_TTL_MS, via=wire, patient=True)
    warm(bench, client)
    key = bench.new_key()
    wire.delay(delay_ms)
    asked_ms = now_ms()
    _deadline_by("acquire", bench.ask(client, key), asked_ms + LONG_TTL_MS + delay_ms / 2)
    grant = bench.take(client, bench.new_key())
    asked_ms = now_ms()
    _deadline_by("renewal", client.renew(grant), asked_ms + LONG_TTL_MS + delay_ms / 2)


def _deadline_by(what: str, answer: Grant | Refusal, latest_ms: float) -> None:
    assert isinstance(answer, Grant), f"the slow {what} said {answer}"
    assert answer.deadline_ns is not None, f"the lease of the {what} has no deadline"
    late_ms = answer.deadline_ns / 1e6 - latest_ms
    assert late_ms <= 0, f"the deadline of the {what} is {late_ms:.0f} ms too late: it counts from the reply"


def check_slow_renewal_is_not_stale(bench: Harness) -> None:
    """A renewal that takes longer than the lease it asks for is no grant (redsync #71).

    The old lease is long, so that the servers do carry the renewal out.
    """
    ttl_ms = bench.short_ttl_ms
    wire = bench.wire()
    client = bench.open(ttl_ms=LONG_TTL_MS, via=wire, call_timeout_ms=3 * ttl_ms, patient=True)
    key = bench.new_key()
    grant = bench.take(client, key)
    wire.delay(ttl_ms + ttl_ms // 4)
    answer = Running(lambda: client.renew(grant, ttl_ms)).result(CLEAN_UP_CALLS * 3 * ttl_ms + OVERRUN_MS)
    wire.restore()
    assert isinstance(answer, Refusal), f"a renewal that took longer than its lease said {answer}"
    assert answer.outcome is not Outcome.BUSY, f"a slow renewal said {answer}"


def check_late_command_leaves_nothing(bench: Harness) -> None:
    """One server gets its commands after the client gave up on it; no key of ours stays there (seen with pottery)."""
    wire = bench.wire()
    client = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    warm(bench, client)
    key = bench.new_key()
    wire.delay(BAD_WIRE_CALL_MS + 200, node=0)
    answer = bench.ask(client, key)
    if isinstance(answer, Grant):
        client.release(answer)
    let_pass(2 * BAD_WIRE_CALL_MS)  # let the late command land
    wire.restore()
    if isinstance(answer, Refusal) and answer.outcome is Outcome.UNKNOWN:
        other = bench.open()
        other.release(bench.take(other, key, bench.lapse_ms))
    what = "a release" if isinstance(answer, Grant) else answer.outcome
    eventually(lambda: not bench.entries(key), AT_ONCE_MS, f"after {what} a late command left entries")


def check_a_minority_may_be_unreachable(bench: Harness) -> None:
    """With some servers silent or refusing, and a quorum left, the lock is granted, held and released (redlock-py)."""
    able = bench.capabilities
    for how in ("drop", "refuse"):
        wire = bench.wire()
        for node in range(able.nodes - able.quorum):
            wire.drop(node) if how == "drop" else wire.refuse(node)
        key = bench.new_key()

        def use(wire: object = wire, key: str = key) -> None:
            client = bench.open(via=wire, call_timeout_ms=AT_ONCE_MS)  # type: ignore[arg-type]
            grant = bench.take(client, key)
            bench.must_be_held(key, "a client that reaches only a quorum")
            released = client.release(grant)
            assert isinstance(released, Released), f"a release by way of a quorum said {released}"

        Running(use).result(PATIENCE_MS)
        bench.take(bench.open(), key, AT_ONCE_MS)


def check_silence_is_not_busy(bench: Harness) -> None:
    """No server answers: the acquire ends in time and does not say that another holds the key (node-redlock #262)."""
    wire = bench.wire()
    client = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    warm(bench, client)
    key = bench.new_key()
    wire.drop()
    answer = Running(lambda: bench.ask(client, key, 0, TRY)).result(CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + bench.lapse_ms)
    assert isinstance(answer, Refusal), "a grant came from servers that were not reached"
    assert answer.outcome is not Outcome.BUSY, "silence was reported as busy"
    wire.restore()
    bench.take(bench.open(), key, bench.lapse_ms)
