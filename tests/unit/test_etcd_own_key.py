"""A waiter whose own key goes is told at once, and why; one that nothing has happened to waits on."""

import base64
import time
from collections.abc import Callable, Iterator

import pytest

from bench.conformance.bounds import AT_ONCE_MS
from bench.conformance.together import Running
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import ClientOptions, Grant, Outcome, Refusal
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.gateway import Gateway
from bench.systems.etcd.leftovers import leftovers
from bench.systems.etcd.lock import EtcdLock
from bench.systems.etcd.server import EtcdServers
from bench.systems.wait import Wait

TTL_MS = 20_000  # a waiter used to look after itself once in a TTL
CALL_MS = 10_000  # a disk that other tests keep busy may take seconds for a lease
WAIT_MS = 4_000
WATCH = Wait("watch")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    supervisor = Supervisor(tmp_path_factory.mktemp("lockbench"))
    supervisor.up([EtcdServers()])
    yield supervisor.endpoint(EtcdServers())
    supervisor.down([EtcdServers()])


class Queue:
    """A holder and a waiter, whose keys an operator can reach."""

    def __init__(self, endpoint: Endpoint, what: str) -> None:
        self.endpoint = endpoint
        self.key = key = "".join(filter(str.isalpha, what))
        self.gateway = Gateway(endpoint, 5.0)
        self.holder, self.waiter = (
            EtcdLock.open(endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) for _ in range(2)
        )
        assert isinstance(self.holder.acquire(key, TTL_MS, 0, Wait("try")), Grant)
        (self.first,) = self.keys()
        self.waiting = Running(self.wait)
        until = time.monotonic() + 10
        while len(self.keys()) < 2:
            assert time.monotonic() < until
            time.sleep(0.01)  # poll: whether the waiter is in the queue
        (self.own,) = [one for one in self.keys() if one != self.first]
        time.sleep(0.3)  # pace: let the watch be set up

    def wait(self) -> tuple[object, float]:
        answer = self.waiter.acquire(self.key, TTL_MS, WAIT_MS, WATCH)
        return answer, time.monotonic()

    def keys(self) -> list[str]:
        return leftovers(self.endpoint, self.key)

    def delete(self, key: str) -> None:
        assert self.gateway.delete(key.encode(), key.encode() + b"\0") == 1

    def close(self) -> None:
        for client in (self.holder, self.waiter):
            client.close()


def _delete_own(queue: Queue) -> None:
    queue.delete(queue.own)


def _delete_all(queue: Queue) -> None:
    every = Entry(queue.key, 0, "")
    assert queue.gateway.delete(every.queue, every.queue_end) == 2


def _end_own_lease(queue: Queue) -> None:
    lease_id = queue.own.rpartition("/")[2].partition("-")[0]
    queue.gateway._post("/v3/lease/revoke", {"ID": str(int(lease_id, 16))}, {})


def _write_over_own(queue: Queue) -> None:
    queue.gateway.write_over(base64.b64encode(queue.own.encode()).decode(), b"touched")


def _write_over_first(queue: Queue) -> None:
    queue.gateway.write_over(base64.b64encode(queue.first.encode()).decode(), b"touched")


def _somebody_comes_and_goes(queue: Queue) -> None:
    with EtcdLock.open(queue.endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) as other:
        other.acquire(queue.key, TTL_MS, 0, WATCH)


Act = Callable[[Queue], None]
TOLD: dict[str, tuple[Act, str]] = {
    "own key deleted": (_delete_own, "deleted by another hand"),
    "own key and the predecessor's deleted": (_delete_all, "deleted by another hand"),
    "own lease revoked": (_end_own_lease, "lease is gone|lease ran out"),
}
GOES_ON: dict[str, Act] = {
    "own key written over": _write_over_own,
    "the predecessor's key written over": _write_over_first,
    "another came and went": _somebody_comes_and_goes,
}


@pytest.mark.parametrize("what", TOLD)
def test_a_waiter_whose_key_goes_is_told_at_once_and_why(endpoint: Endpoint, what: str) -> None:
    act, why = TOLD[what]
    queue = Queue(endpoint, what)
    acted = time.monotonic()
    act(queue)
    answer, told = queue.waiting.result(WAIT_MS + AT_ONCE_MS)
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.LOST, answer
    assert (told - acted) * 1000 < AT_ONCE_MS, f"told after {told - acted:.1f} s"
    assert any(word in answer.reason for word in why.split("|")), answer.reason
    again = queue.waiter.acquire(f"{what}, next", TTL_MS, 0, Wait("try"))
    assert isinstance(again, Grant), again
    queue.close()


@pytest.mark.parametrize("what", GOES_ON)
def test_a_waiter_whose_key_stays_waits_on(endpoint: Endpoint, what: str) -> None:
    queue = Queue(endpoint, what)
    GOES_ON[what](queue)
    answer, _ = queue.waiting.result(WAIT_MS + 5 * AT_ONCE_MS)
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.TIMEOUT, answer
    queue.close()


def test_a_holder_whose_key_is_deleted_is_told_why_and_its_other_grants_live(endpoint: Endpoint) -> None:
    with EtcdLock.open(endpoint, ClientOptions(ttl_ms=TTL_MS, call_timeout_ms=CALL_MS)) as client:
        grants = [client.acquire(f"of a holder {number}", TTL_MS, 0, Wait("try")) for number in range(2)]
        struck, other = grants
        assert isinstance(struck, Grant)
        assert isinstance(other, Grant)
        everything = Entry(struck.key, 0, "")
        Gateway(endpoint, 5.0).delete(everything.queue, everything.queue_end)
        told = client.renew(struck)
        assert isinstance(told, Refusal)
        assert told.outcome is Outcome.LOST
        assert "deleted by another hand" in told.reason
        assert client.lost(struck) == told.reason, "lost is final"
        again = client.renew(struck)
        assert isinstance(again, Refusal)
        assert again.outcome is Outcome.LOST
        assert isinstance(client.renew(other), Grant)
        assert client.lost(other) is None
