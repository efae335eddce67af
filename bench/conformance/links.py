"""Clients on a broken network: lost replies, cut connections, and silence."""

from functools import partial

from bench.conformance.bounds import AT_ONCE_MS, BAD_WIRE_CALL_MS, LAPSE_SLACK_MS, OVERRUN_MS, PATIENCE_MS
from bench.conformance.harness import Harness, eventually, let_pass, now_ms
from bench.conformance.together import Running
from bench.systems.base import Grant, LockClient, Outcome, Refusal, Released

# Several calls may each run into the call timeout while an acquire cleans up after itself.
CLEAN_UP_CALLS = 4


def warm(bench: Harness, client: LockClient) -> None:
    """Connections made, scripts loaded, tables known: the fault then hits the acquire and not the set-up."""

    def granted() -> Grant | None:
        answer = bench.ask(client, bench.new_key("-warm"), PATIENCE_MS, bench.wait)
        return answer if isinstance(answer, Grant) else None

    # A client with a short limit for its calls may be refused now and then by servers that wait for a busy disk.
    client.release(eventually(granted, PATIENCE_MS, "a client on a sound wire was granted no free key"))


def check_lost_reply_is_never_busy(bench: Harness) -> None:
    """The servers carry out an acquire and the reply is lost, silently or with the connection.

    The answer is a grant that is real, or a refusal other than busy; then the key is free at once, or after one lease
    if the client said that it does not know (redis-py's default retry, fencekit, openlinker #2717, kazoo #732).
    """
    for then_sever in (False, True):
        wire = bench.wire()
        client = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
        key = bench.new_key()
        warm(bench, client)
        wire.swallow_reply(then_sever=then_sever)
        asking = Running(partial(bench.ask, client, key))
        answer = asking.result(CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + OVERRUN_MS)
        wire.restore()
        if isinstance(answer, Grant):
            bench.must_be_held(key, "the client whose reply was lost, and who said acquired,")
            assert isinstance(client.release(answer), Released), "a grant after a lost reply could not be released"
            free_within_ms = AT_ONCE_MS
        else:
            assert answer.outcome is not Outcome.BUSY, "a lost reply was reported as busy: nobody else holds the key"
            may_remain = answer.outcome in (Outcome.UNKNOWN, Outcome.LOST)
            free_within_ms = bench.lapse_ms if may_remain else AT_ONCE_MS
        bench.take(bench.open(), key, free_within_ms)


def check_severed_wait_ends_and_leaves_nothing(bench: Harness) -> None:
    """The connection closes while a client joins or sits in the queue: it ends in time, without grant or trace."""
    holder, key = bench.open(), bench.new_key()
    grant = bench.take(holder, key)
    before = len(bench.entries(key))
    timeout_ms = 500
    for after_ms in (0, 2, 8, 150):
        wire = bench.wire()
        waiter = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
        waiting = Running(partial(bench.ask, waiter, key, timeout_ms, bench.wait))
        let_pass(after_ms)
        wire.sever()
        answer = waiting.result(timeout_ms + CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + OVERRUN_MS)
        assert isinstance(answer, Refusal), f"cut {after_ms} ms into its wait, a client was granted a held key"
        assert answer.outcome is not Outcome.BUSY, f"a wait that was cut said {answer}"
    eventually(
        lambda: len(bench.entries(key)) <= before, bench.lapse_ms, "waiters whose connection was cut left entries"
    )
    bench.must_be_held(key, "the holder")
    assert isinstance(holder.release(grant), Released), "the holder could not release"
    bench.take(bench.open(), key, AT_ONCE_MS)


def check_silent_wait_ends_and_leaves_nothing(bench: Harness) -> None:
    """All packets are dropped while a client waits: it ends in time, and the next grant comes within a lease."""
    holder, key = bench.open(), bench.new_key()
    grant = bench.take(holder, key)
    wire = bench.wire()
    waiter = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    warm(bench, waiter)
    before = len(bench.entries(key))
    waiting = Running(lambda: bench.ask(waiter, key, 400, bench.wait))
    let_pass(100)
    wire.drop()
    answer = waiting.result(400 + CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + bench.lapse_ms)
    assert isinstance(answer, Refusal), "a client that heard nothing was granted a held key"
    assert answer.outcome is not Outcome.BUSY, f"a wait that heard nothing said {answer}"
    wire.restore()
    eventually(lambda: len(bench.entries(key)) <= before, bench.lapse_ms, "a waiter that was cut off left an entry")
    holder.release(grant)
    bench.take(bench.open(), key, AT_ONCE_MS)


def check_cut_off_holder_is_told(bench: Harness) -> None:
    """A holder that no packet reaches is notified by its own clock; once back, it cannot touch the next grant."""
    wire = bench.wire()
    client = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    key = bench.new_key()
    grant = bench.take(client, key)
    wire.drop()
    notified_within_ms = bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms + AT_ONCE_MS
    eventually(lambda: client.lost(grant), notified_within_ms, "a holder that was cut off is not notified of the loss")
    other = bench.open()
    next_grant = bench.take(other, key, bench.lapse_ms + LAPSE_SLACK_MS)
    wire.restore()
    _must_say_lost(client, grant)
    bench.must_be_held(key, "the next holder")
    assert isinstance(other.release(next_grant), Released), "the next holder lost its grant to one that was cut off"


def check_severed_holder_is_told(bench: Harness) -> None:
    """Where the lock ends with the connection, its end is reported, and the key is free at once."""
    wire = bench.wire()
    client = bench.open(via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    key = bench.new_key()
    grant = bench.take(client, key)
    assert client.lost(grant) is None, "a holder with a sound connection is reported to have lost the lock"
    wire.sever()
    eventually(lambda: client.lost(grant), AT_ONCE_MS, "a holder whose connection was reset is not notified")
    other = bench.open()
    next_grant = bench.take(other, key, AT_ONCE_MS)
    _must_say_lost(client, grant)
    bench.must_be_held(key, "the next holder")
    assert isinstance(other.release(next_grant), Released), "the next holder lost its grant to one that was cut"


def _must_say_lost(client: LockClient, grant: Grant) -> None:
    """Renew and release until the client is connected again and says lost; never that they worked."""
    for name, call in (("renewal", client.renew), ("release", client.release)):

        def said_lost(name: str = name, call: object = call) -> bool:
            answer = call(grant)  # type: ignore[operator]
            assert isinstance(answer, Refusal), f"a {name} of a lost grant succeeded: {answer}"
            assert answer.outcome in (Outcome.LOST, Outcome.ERROR, Outcome.UNKNOWN), f"a {name} said {answer}"
            return answer.outcome is Outcome.LOST

        eventually(
            said_lost, CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + OVERRUN_MS, f"a {name} of a lost grant never said lost"
        )


def check_one_cut_does_not_lose_the_lease_silently(bench: Harness) -> None:
    """The connection closes once at a renewal: it is renewed all the same, or the holder is notified in time.

    Reported as python-redis-lock #85.
    """
    wire = bench.wire()
    client = bench.open(ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
    key = bench.new_key()
    grant = bench.take(client, key)
    lease_ends_ms = now_ms() + bench.short_ttl_ms
    let_pass(bench.short_ttl_ms / 2)
    wire.sever()
    answer = client.renew(grant)
    while isinstance(answer, Refusal) and answer.outcome is not Outcome.LOST and now_ms() < lease_ends_ms:
        assert answer.outcome in (Outcome.ERROR, Outcome.UNKNOWN), f"a renewal after a cut said {answer}"
        let_pass(bench.short_ttl_ms / 20)
        answer = client.renew(grant)
    if isinstance(answer, Grant):
        # Past the end of the first lease and within the second: only a renewal that reached the servers holds here.
        # (A session is also kept alive in the background, and may have been by now.)
        let_pass(lease_ends_ms + bench.short_ttl_ms / 10 - now_ms())
        bench.must_be_held(key, "the client that renewed after a cut")
    else:
        notified_within_ms = max(0.0, lease_ends_ms - now_ms()) + AT_ONCE_MS
        eventually(
            lambda: client.lost(grant),
            notified_within_ms,
            f"the renewal said {answer}, and the holder was not notified",
        )
