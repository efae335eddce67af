"""Clients whose connections were ended by the other side, and which can have new ones at once."""

from functools import partial

from bench.conformance.bounds import AT_ONCE_MS, NOTICED_WITHIN_MS, OVERRUN_MS
from bench.conformance.harness import Harness, eventually, let_pass, now_ms
from bench.conformance.links import CLEAN_UP_CALLS, warm
from bench.conformance.together import Running
from bench.systems.base import Grant, Outcome, Refusal


def check_a_connection_ended_while_idle_costs_nothing(bench: Harness) -> None:
    """The server closes a kept-alive connection, or it is reset, while no call is under way: the next try is a grant.

    Servers and what stands before them end idle connections as a matter of course. Nothing was on the way, so there is
    nothing to find out first.
    """
    for how in ("closed", "reset"):
        wire = bench.wire()
        client = bench.open(via=wire)
        warm(bench, client)
        if how == "closed":
            wire.hang_up()
        else:
            wire.sever()
        let_pass(NOTICED_WITHIN_MS)
        asking = Running(partial(bench.ask, client, bench.new_key()))
        answer = asking.result(client.options.call_timeout_ms + OVERRUN_MS)
        assert isinstance(answer, Grant), f"after its idle connection was {how}, a try said {answer}"


def check_clients_recover_from_a_reset(bench: Harness) -> None:
    """All connections are reset, idle or with a reply on the way: whatever the call at that moment said, later ones
    are granted."""
    for in_flight in (False, True):
        wire = bench.wire()
        client = bench.open(via=wire)
        warm(bench, client)
        if in_flight:
            wire.swallow_reply(then_sever=True)
            struck = Running(partial(bench.ask, client, bench.new_key()))
            struck.result(CLEAN_UP_CALLS * client.options.call_timeout_ms + OVERRUN_MS)
        else:
            wire.sever()
        eventually(
            lambda: isinstance(bench.ask(client, bench.new_key()), Grant),  # noqa: B023 - called in this turn only
            AT_ONCE_MS + OVERRUN_MS,
            f"no try was granted after a reset {'in flight' if in_flight else 'while idle'}",
        )


def check_a_reset_does_not_cost_the_lease(bench: Harness) -> None:
    """All connections are reset, idle or with a renewal's reply on the way: the lease is renewed before it ends."""
    for in_flight in (False, True):
        wire = bench.wire()
        ttl_ms = 2 * bench.short_ttl_ms
        client = bench.open(ttl_ms=ttl_ms, via=wire)
        key = bench.new_key()
        grant = bench.take(client, key)
        lease_ends_ms = now_ms() + ttl_ms
        let_pass(ttl_ms / 3)
        if in_flight:
            wire.swallow_reply(then_sever=True)
        else:
            wire.sever()
        must_be_renewed(bench, client.renew, grant, lease_ends_ms, "after a reset")


def must_be_renewed(bench: Harness, renew: object, grant: Grant, lease_ends_ms: float, when: str) -> None:
    """Renew until it says yes, and see that the servers know of it once the old lease is over."""
    answer: Grant | Refusal = renew(grant)  # type: ignore[operator]
    while isinstance(answer, Refusal) and now_ms() < lease_ends_ms:
        assert answer.outcome in (Outcome.ERROR, Outcome.UNKNOWN), f"a renewal {when} said {answer}"
        let_pass(grant.ttl_ms / 20)
        answer = renew(grant)  # type: ignore[operator]
    assert isinstance(answer, Grant), f"no renewal {when} got through before the lease ended; the last said {answer}"
    let_pass(lease_ends_ms + grant.ttl_ms / 20 - now_ms())
    bench.must_be_held(grant.key, f"the client that renewed {when}")
