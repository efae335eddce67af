"""Clients whose connections have fallen silent: nothing arrives over them any more, nobody said so, and new ones work.

A firewall that forgets idle connections and a server that was replaced under its address look like this. Only a client
that probes its connections can tell, and it has a share of the lease for it.
"""

from functools import partial

from bench.conformance.bounds import OVERRUN_MS
from bench.conformance.ended_connections import must_be_renewed
from bench.conformance.harness import Harness, eventually, let_pass, now_ms
from bench.conformance.links import CLEAN_UP_CALLS, warm
from bench.conformance.together import Running
from bench.conformance.wires import Wire
from bench.systems.base import Grant, LockClient


def check_silent_connections_are_replaced(bench: Harness) -> None:
    """A client with silent connections, and a new client of the same process, are granted locks within one lease and
    one call."""
    wire = bench.wire()
    ttl_ms = 2 * bench.short_ttl_ms
    client = bench.open(ttl_ms=ttl_ms, via=wire)
    warm(bench, client)
    wire.silence()
    within_ms = ttl_ms + client.options.call_timeout_ms
    for who, ask in (("the same client", partial(_granted, bench, client)), ("a new one", partial(_new, bench, wire))):
        asking = Running(partial(eventually, ask, within_ms, f"silent connections: {who} was granted nothing"))
        asking.result(within_ms + CLEAN_UP_CALLS * client.options.call_timeout_ms + OVERRUN_MS)


def _granted(bench: Harness, client: LockClient) -> bool:
    return isinstance(bench.ask(client, bench.new_key()), Grant)


def _new(bench: Harness, wire: Wire) -> bool:
    try:
        return _granted(bench, bench.open(via=wire))
    except ConnectionError:
        return False


def check_silent_connections_do_not_cost_the_lease(bench: Harness) -> None:
    """A holder whose connections fall silent gets a renewal through before its lease ends."""
    wire = bench.wire()
    ttl_ms = 2 * bench.short_ttl_ms
    client = bench.open(ttl_ms=ttl_ms, via=wire)
    grant = bench.take(client, bench.new_key())
    lease_ends_ms = now_ms() + ttl_ms
    wire.silence()
    let_pass(ttl_ms / 3)
    must_be_renewed(bench, client.renew, grant, lease_ends_ms, "over silent connections")
