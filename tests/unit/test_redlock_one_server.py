"""Redlock over addresses that are not independent servers is refused at connect, by the servers' own words."""

from collections.abc import Mapping
from contextlib import ExitStack

import pytest

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, Grant
from bench.systems.redlock.lock import RedlockLock
from bench.systems.wait import Wait
from tests.unit.redis_scripted import INFO, ScriptedRedis


def told(number: int, **more: str) -> Mapping[str, str]:
    """INFO of an independent server."""
    return {**INFO, "run_id": f"{number:040x}", "master_replid": f"{number:039x}f", "role": "master", **more}


def replica(number: int, of: int, **more: str) -> Mapping[str, str]:
    address = {"role": "slave", "master_host": "10.0.0.1", "master_port": str(of)}
    return told(number, **address, master_replid=f"{of:039x}f", **more)


DEPENDENT = {
    "one server three times": ([told(1), told(1), told(1)], "are one server"),
    "one server twice among five": ([told(1), told(2), told(3), told(4), told(2)], "are one server"),
    "a primary and its replica": ([told(1), replica(2, of=1), told(3)], "copies of the same data"),
    "two replicas of a primary that is not named": ([replica(1, of=9), told(2), replica(3, of=9)], "copies"),
    "two replicas that have no copy yet": (
        [replica(1, of=9) | {"master_replid": "a" * 40}, told(2), replica(3, of=9) | {"master_replid": "b" * 40}],
        "replicas of one primary",
    ),
}
INDEPENDENT = {
    "three": [told(1), told(2), told(3)],
    "three that tell no identity": [INFO | {"run_id": ""}] * 3,
    "replicas of unlike primaries": [replica(1, of=11), replica(2, of=12), replica(3, of=13)],
}


def open_on(stack: ExitStack, facts: list[Mapping[str, str]]) -> RedlockLock:
    servers = [stack.enter_context(ScriptedRedis(lambda _: b"+OK\r\n", each)) for each in facts]
    endpoint = Endpoint(tuple(server.address for server in servers))
    return stack.enter_context(RedlockLock.open(endpoint, ClientOptions(call_timeout_ms=2_000)))


@pytest.mark.parametrize("name", DEPENDENT)
def test_servers_that_are_not_independent_are_refused(name: str) -> None:
    facts, how = DEPENDENT[name]
    with ExitStack() as stack, pytest.raises(LockbenchError, match=how) as refused:
        open_on(stack, facts)
    assert str(refused.value).count("127.0.0.1:") == 2, "both addresses are named"


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_servers_are_taken(name: str) -> None:
    with ExitStack() as stack:
        client = open_on(stack, INDEPENDENT[name])
        assert isinstance(client.acquire("k", 10_000, 0, Wait("try")), Grant)
