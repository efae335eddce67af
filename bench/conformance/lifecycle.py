"""Opening, closing and asking a client who it speaks to."""

import pytest

from bench.conformance.bounds import AT_ONCE_MS, OVERRUN_MS
from bench.conformance.harness import Harness
from bench.conformance.together import Running
from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal


def check_closed_client_refuses(bench: Harness) -> None:
    """An acquire on a closed client ends in time, by a refusal or a ConnectionError (kazoo #282, #482, #412)."""
    client = bench.open(call_timeout_ms=AT_ONCE_MS)
    bench.take(client, bench.new_key())
    client.close()

    def ask() -> Grant | Refusal | Exception:
        try:
            return bench.ask(client, bench.new_key(), AT_ONCE_MS, bench.wait)
        except ConnectionError as refused:
            return refused

    answer = Running(ask).result(AT_ONCE_MS + OVERRUN_MS)
    assert not isinstance(answer, Grant), "a closed client was granted a lock"
    if isinstance(answer, Refusal):
        assert answer.outcome in (Outcome.ERROR, Outcome.LOST), f"a closed client answered {answer}"
    assert str(answer), "a closed client's error says nothing"


def check_close_may_be_repeated(bench: Harness) -> None:
    """Closing twice, also with a grant in hand, raises nothing."""
    client = bench.open()
    bench.take(client, bench.new_key())
    for _ in range(3):
        try:
            client.close()
        except Exception as error:
            raise AssertionError(f"close raised {type(error).__name__}: {error}") from error


def check_with_block_closes(bench: Harness) -> None:
    """A with block gives the client, closes it on the way out and lets exceptions pass; a refusal in it is no grant.

    python-etcd3 #599: a with block was entered as if granted when another held the key past the timeout.
    """
    holder = bench.open()
    key = bench.new_key()
    bench.take(holder, key)
    seen: list[LockClient] = []

    def fail_inside() -> None:
        with bench.open() as client:
            seen.append(client)
            answer = bench.ask(client, key, 100, bench.wait)
            assert isinstance(answer, Refusal), "a wait on a held key past the timeout was granted"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    try:
        answer = bench.ask(seen[0], bench.new_key(), 100, bench.wait)
    except ConnectionError:
        return
    assert isinstance(answer, Refusal), "the client of a finished with block still grants"


def check_facts_come_from_the_server(bench: Harness) -> None:
    """Version, identity and durability are reported, as text, and the same to two clients."""
    facts, again = bench.open().server_facts(), bench.open().server_facts()
    assert facts.version, "the server's version is empty"
    assert facts.identity, "the server's identity is empty"
    assert facts.durability, "the server's durability settings are empty"
    # A value may be empty text where that is the server's own word (Redis: save "").
    assert all(isinstance(value, str) for value in facts.durability.values()), f"not text: {facts.durability}"
    assert facts.nodes == bench.capabilities.nodes, f"{facts.nodes} nodes, not {bench.capabilities.nodes}"
    # Each may have asked another member, which has its own identity and role.
    assert (facts.version, facts.durability.keys()) == (again.version, again.durability.keys()), f"{facts} and {again}"


def check_open_names_who_does_not_answer(bench: Harness) -> None:
    """Opening a client where nobody listens fails in time, as ConnectionError with the address."""
    ports = free_ports(len(bench.endpoint.addresses))
    nowhere: Endpoint = bench.endpoint.at(tuple(("127.0.0.1", port) for port in ports))
    options = ClientOptions(call_timeout_ms=AT_ONCE_MS, variant=bench.system.client_variant)

    def open_it() -> str:
        try:
            bench.system.client_class.open(nowhere, options).close()
        except ConnectionError as refused:
            return str(refused)
        raise AssertionError("a client opened where nobody listens")

    said = Running(open_it).result(AT_ONCE_MS * 2 + OVERRUN_MS)
    assert any(str(port) for port in ports if str(port) in said), f"{said!r} does not name the address {nowhere}"
