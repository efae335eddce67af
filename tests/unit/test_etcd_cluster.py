"""Which member is asked, and what a failed call means; against ports where nobody listens."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import grpc
import pytest

from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import free_ports
from bench.systems.base import ClientOptions
from bench.systems.etcd import channels, grpc_under_gevent
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.stubs import etcdrpc
from tests.unit.etcd_scripted import failure


def _nowhere(client: str = "c") -> Cluster:
    addresses = tuple(("127.0.0.1", port) for port in free_ports(3))
    return Cluster(Endpoint(addresses), ClientOptions(client=client, call_timeout_ms=1_000))


def test_after_a_failure_the_next_call_goes_to_the_next_member() -> None:
    cluster = _nowhere()
    asked = []
    for _ in range(4):
        asked.append(cluster.address)
        with pytest.raises(CallFailed) as failed:
            cluster.call("range", etcdrpc.RangeRequest(key=b"k"))
        assert failed.value.refused, "a refused connection is known to have carried nothing"
    assert set(asked[:3]) == set(cluster.addresses)
    assert asked[3] == asked[0]
    cluster.close()


def test_clients_spread_over_the_members() -> None:
    endpoint = Endpoint(tuple(("etcd.invalid", port) for port in (1, 2, 3)))
    asked = [Cluster(endpoint, ClientOptions(client=f"c{number}")).address for number in range(90)]
    assert all(20 <= asked.count(address) <= 40 for address in endpoint.addresses)


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNKNOWN]
)
def test_what_may_have_happened_is_not_refused(code: grpc.StatusCode) -> None:
    assert not failure(code, "etcdserver: request timed out").refused


@pytest.mark.parametrize("code", [grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED])
def test_what_etcd_rejected_is_refused(code: grpc.StatusCode) -> None:
    assert failure(code).refused


@contextmanager
def _watch_that_ends(code: grpc.StatusCode, details: str) -> Iterator[Cluster]:
    """A cluster of one member, which ends every watch in this way."""

    def end(_: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        context.abort(code, details)
        yield b""

    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.stream_stream_rpc_method_handler(end)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("etcdserverpb.Watch", {"Watch": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    cluster = Cluster(Endpoint((("127.0.0.1", port),)), ClientOptions(call_timeout_ms=1_000))
    try:
        yield cluster
    finally:
        cluster.close()
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("code", "details"),
    [
        (grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded"),
        (grpc.StatusCode.UNKNOWN, "context deadline exceeded"),  # etcd 3.4 may be quicker than our own clock
    ],
)
def test_a_stream_that_ends_at_our_deadline_has_not_failed(code: grpc.StatusCode, details: str) -> None:
    with (
        _watch_that_ends(code, details) as cluster,
        cluster.stream("watch", [etcdrpc.WatchRequest()], 5_000) as answers,
    ):
        next(answers)


@pytest.mark.parametrize("details", ["", "etcdserver: no leader", "context canceled"])
def test_a_stream_that_ends_otherwise_has(details: str) -> None:
    with (
        _watch_that_ends(grpc.StatusCode.UNKNOWN, details) as cluster,
        pytest.raises(CallFailed, match=f"UNKNOWN: {details}$"),
        cluster.stream("watch", [etcdrpc.WatchRequest()], 5_000) as answers,
    ):
        next(answers)


def test_a_closed_cluster_opens_no_channel_again() -> None:
    cluster = _nowhere()
    cluster.close()
    with pytest.raises(CallFailed, match="closed"):
        cluster.call("range", etcdrpc.RangeRequest(key=b"k"))


def test_clients_of_a_process_share_a_channel_until_the_last_gives_it_back() -> None:
    address = ("127.0.0.1", free_ports(1)[0])
    endpoint = Endpoint((address,))
    first = channels.take(address, endpoint)
    assert channels.take(address, endpoint) is first
    channels.give_back(first)
    assert channels.take(address, endpoint) is first
    channels.give_back(first)
    channels.give_back(first)
    again = channels.take(address, endpoint)
    assert again is not first
    channels.give_back(again)


def test_a_silent_line_is_used_no_more_and_the_others_must_be_heard_first() -> None:
    endpoint = Endpoint(tuple(("127.0.0.1", port) for port in free_ports(3)))
    lines = [channels.take(address, endpoint) for address in endpoint.addresses]
    channels.found_silent(lines[0])
    assert [line.trusted for line in lines] == [False, False, False]
    lines[1].heard += 1  # an answer
    assert [line.trusted for line in lines] == [False, True, False]
    anew = [channels.take(address, endpoint) for address in endpoint.addresses]
    assert [one is other for one, other in zip(anew, lines, strict=True)] == [False, True, False]
    assert all(line.trusted for line in anew)
    for line in (*lines, *anew):
        channels.give_back(line)


def test_a_fork_after_use_under_gevent_is_an_error_and_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    patched = SimpleNamespace(is_module_patched=lambda _: True)
    monkeypatch.setitem(sys.modules, "gevent.monkey", patched)
    monkeypatch.setattr(grpc_under_gevent, "_told_in_process", [os.getpid() + 1])
    with pytest.raises(RuntimeError, match="fork"):
        grpc_under_gevent.cooperate()


def test_without_gevent_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "gevent.monkey", raising=False)
    monkeypatch.setattr(grpc_under_gevent, "_told_in_process", [])
    grpc_under_gevent.cooperate()
    assert grpc_under_gevent._told_in_process == []


KILLED_WHILE_OPENING = """
from gevent import monkey; monkey.patch_all()
import gevent, sys
from gevent.event import Event
from bench.systems.etcd.grpc_under_gevent import opened

class Stream:
    def __init__(self): self.cancelled = Event()
    def cancel(self): self.cancelled.set()

def killed_after(steps):
    asked, answered, had, stream = Event(), Event(), [], Stream()
    def open_stream():
        asked.set()
        answered.wait()  # as gRPC waits for a thread that it starts
        return stream
    caller = gevent.spawn(lambda: had.append(opened(open_stream)))
    gevent.idle() if steps == "begun" else None
    if steps == "asked":
        asked.wait()
    if steps == "open":
        asked.wait()
        answered.set()
        caller.join()
    caller.kill()
    answered.set()
    gevent.idle()
    return had == [stream] if steps == "open" else not asked.is_set() or stream.cancelled.wait(10)

print([killed_after(steps) for steps in ("nothing", "begun", "asked", "open")])
"""


def test_a_stream_whose_caller_is_killed_while_it_opens_is_cancelled() -> None:
    """Else the member keeps it until its deadline, the session's."""
    ran = subprocess.run([sys.executable, "-c", KILLED_WHILE_OPENING], capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("[True, True, True, True]\n", "")
