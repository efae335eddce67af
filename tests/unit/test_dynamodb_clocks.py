"""Whose clock decides, on a real engine: a wall clock that is an hour ahead takes a live lease, or does not."""

import os
import time
from collections.abc import Iterator

import pytest

from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import WrongServer
from bench.systems.base import ClientOptions, Grant, Outcome, Refusal
from bench.systems.dynamodb.client_clock import ClientClockDynamoDBLock
from bench.systems.dynamodb.lock import DynamoDBLock
from bench.systems.dynamodb.server import DynamoDBServers
from bench.systems.wait import Wait

pytestmark = pytest.mark.servers

TRY = Wait("try")
TTL_MS = 60_000
HOUR_NS = 3_600_000_000_000


class Ahead:
    """This machine's clocks, the wall clock shifted."""

    def __init__(self, by_ns: int) -> None:
        self._by_ns = by_ns

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        return time.time_ns() + self._by_ns

    def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody waits here")


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path_factory.mktemp("lockbench"))
    supervisor.up([DynamoDBServers()])
    yield supervisor
    supervisor.down([DynamoDBServers()])


@pytest.fixture(scope="module")
def endpoint(supervisor: Supervisor) -> Endpoint:
    return supervisor.endpoint(DynamoDBServers())


@pytest.mark.parametrize(
    ("lock", "shift_ns", "taken"),
    [
        (DynamoDBLock, HOUR_NS, False),
        (ClientClockDynamoDBLock, HOUR_NS, True),
        (ClientClockDynamoDBLock, 0, False),
    ],
)
def test_a_live_lease_against_a_clock_that_is_ahead(
    endpoint: Endpoint, lock: type[DynamoDBLock], shift_ns: int, taken: bool
) -> None:
    key = f"{lock.__name__}-{shift_ns}"
    holder = lock.open(endpoint)
    held = holder.acquire(key, TTL_MS, 0, TRY)
    assert isinstance(held, Grant)
    other = lock.open(endpoint, ClientOptions(clock=Ahead(shift_ns)))
    answer = other.acquire(key, TTL_MS, 0, TRY)
    if taken:
        assert isinstance(answer, Grant)
        assert holder.lost(held) is None  # two holders, and the first has no reason to doubt
    else:
        assert isinstance(answer, Refusal)
        assert answer.outcome is Outcome.BUSY


def test_the_identity_is_of_this_start_and_of_no_other_process(supervisor: Supervisor) -> None:
    (node,) = supervisor.running(DynamoDBServers()).nodes
    assert node.process is not None
    spec = DynamoDBServers()
    assert spec.prove(node.node, node.process.pid) == node.identity
    with pytest.raises(WrongServer, match="another process"):
        spec.prove(node.node, os.getpid())
    facts = DynamoDBLock.open(supervisor.endpoint(spec)).server_facts()
    assert facts.identity == node.identity
    assert facts.version.startswith("dynalite 3.")
