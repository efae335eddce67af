"""What a client knows for good: that a grant is gone, and whose a grant is."""

from functools import partial

from bench.conformance.bounds import BAD_WIRE_CALL_MS, OVERRUN_MS
from bench.conformance.harness import Harness, let_pass
from bench.conformance.links import CLEAN_UP_CALLS, warm
from bench.conformance.together import Running
from bench.systems.base import Grant, Outcome, Refusal, Released
from bench.systems.clock import SystemClock


class SleepyClock(SystemClock):
    """The clock of a machine that a test suspends: on waking, more time has gone by than anybody lived through."""

    def __init__(self) -> None:
        self.slept_ns = 0

    def monotonic_ns(self) -> int:
        return super().monotonic_ns() + self.slept_ns


def check_suspended_holder_is_told(bench: Harness) -> None:
    """A holder whose machine slept past its lease is notified on waking, and a lock so lost does not come back.

    The servers lived through none of that time, so they would still renew: what was reported is final all the same.
    """
    clock = SleepyClock()
    client = bench.open(ttl_ms=bench.short_ttl_ms, clock=clock)
    key = bench.new_key()
    grant = bench.take(client, key)
    assert client.lost(grant) is None, "a holder within its lease is reported to have lost it"
    clock.slept_ns = 2 * (bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms) * 1_000_000
    assert client.lost(grant), "a holder whose machine slept past its lease is not notified"
    let_pass(bench.short_ttl_ms)  # a session may be renewed, or a new one begun, in the background
    assert client.lost(grant), "a reported loss was taken back"
    for name, call in (("renewal", client.renew), ("release", client.release)):
        answer = call(grant)
        assert isinstance(answer, Refusal), f"a {name} after the reported loss succeeded: {answer}"
        assert answer.outcome is Outcome.LOST, f"a {name} after the reported loss said {answer}"
    assert client.lost(grant), "a reported loss was taken back"
    bench.take(bench.open(), key, bench.lapse_ms)  # nothing of it stands in others' way
    bench.take(client, bench.new_key())  # and the client can go on


def check_clients_of_one_name_are_strangers(bench: Harness) -> None:
    """Two clients with the same name: the lost reply of one, and its cleaning up, change nothing of the other's."""
    for then_sever in (False, True):
        wire = bench.wire()
        holder = bench.open(client="the same")
        other = bench.open(client="the same", ttl_ms=bench.short_ttl_ms, via=wire, call_timeout_ms=BAD_WIRE_CALL_MS)
        warm(bench, other)
        warm(bench, holder)  # both have made as many grants
        key = bench.new_key()
        grant = bench.take(holder, key)
        wire.swallow_reply(then_sever=then_sever)
        asking = Running(partial(bench.ask, other, key))
        answer = asking.result(CLEAN_UP_CALLS * BAD_WIRE_CALL_MS + OVERRUN_MS)
        wire.restore()
        assert not isinstance(answer, Grant), f"a client was granted what one of the same name holds: {answer}"
        bench.must_be_held(key, "the holder, after a namesake's lost reply,")
        let_pass(bench.short_ttl_ms / 4)  # what the namesake may still clean up in the background
        assert isinstance(holder.renew(grant), Grant), "a namesake's lost reply cost the holder its lock"
        assert isinstance(holder.release(grant), Released), "the holder could not release"
        bench.take(bench.open(), key, bench.lapse_ms)
