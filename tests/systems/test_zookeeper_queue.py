"""The queue of the real ensemble when a waiter is thrown out, an entry is deleted, or a session was thought over."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from bench.conformance.harness import eventually
from bench.conformance.interrupted import ended_by
from bench.conformance.interruptions import out_of_reach
from bench.conformance.proxy_wire import ProxyWire
from bench.servers.breaking.proxy import FaultProxy, Shots
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import RELEASED, ClientOptions, Grant, LockClient, Outcome, Refusal
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from bench.systems.zookeeper.lock import ZooKeeperLock

pytestmark = pytest.mark.servers
ZOOKEEPER = SYSTEMS["zookeeper"]
TTL_MS = 4_000
TRY, WATCH, HERD = Wait("try"), Wait("watch"), Wait("herd")
SOON_MS = 5_000


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Three servers, in a folder that Java would misread if it were not told."""
    own = Supervisor(tmp_path_factory.mktemp("queue") / "h\u00e9 \u8a9e\\u0041")
    assert ZOOKEEPER.servers is not None
    own.up([ZOOKEEPER.servers])
    yield own.endpoint(ZOOKEEPER.servers)
    own.down([ZOOKEEPER.servers])


@pytest.fixture
def opened(endpoint: Endpoint) -> Iterator[Callable[..., LockClient]]:
    clients: list[LockClient] = []

    def open_one(label: str = "one", via: Endpoint | None = None, **options: int) -> LockClient:
        client = ZooKeeperLock.open(via or endpoint, ClientOptions(client=label, ttl_ms=TTL_MS, **options))  # type: ignore[arg-type]
        clients.append(client)
        return client

    yield open_one
    for client in clients:
        client.close()


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    return f"queue-{abs(hash(request.node.name))}-{time.monotonic_ns()}"


def take(client: LockClient, key: str, wait: Wait = TRY, timeout_ms: int = 0) -> Grant:
    answer = client.acquire(key, TTL_MS, timeout_ms, wait)
    assert isinstance(answer, Grant), answer
    return answer


def queue(client: LockClient, key: str) -> list[str]:
    """The entries of a key, as the leader has them."""
    assert isinstance(client, ZooKeeperLock)
    kazoo = client._session.kazoo
    kazoo.sync("/")
    return sorted(kazoo.get_children(f"/lockbench/{key}"))


class Thrown(Exception):
    """What a program's own signal handler raises."""


@pytest.mark.parametrize("thrown", [Thrown, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("after_ms", [0.2, 1, 2, 3, 5, 8, 500])
def test_a_waiter_thrown_out_leaves_nothing(
    opened: Callable[..., LockClient], key: str, thrown: type[BaseException], after_ms: float
) -> None:
    holder, waiter, next_one = opened("h"), opened("w"), opened("n")
    grant = take(holder, key)

    def throw(_: int, frame: FrameType | None) -> None:
        if out_of_reach(frame):  # Python would swallow it
            signal.setitimer(signal.ITIMER_REAL, 0.2 / 1e3)
            return
        signal.setitimer(signal.ITIMER_REAL, 2)  # again, should Python have swallowed it after all
        raise thrown

    def acquire_with_alarm() -> None:
        signal.setitimer(signal.ITIMER_REAL, after_ms / 1e3)
        waiter.acquire(key, TTL_MS, 5_000, WATCH)

    before = signal.signal(signal.SIGALRM, throw)
    try:
        with pytest.raises((thrown, RuntimeError)) as told:
            acquire_with_alarm()
        assert ended_by(told.value, thrown)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    eventually(lambda: len(queue(holder, key)) == 1, SOON_MS, "the waiter's entry stayed")
    assert holder.release(grant) is RELEASED
    take(next_one, key, WATCH, 3_000)
    take(waiter, key + "-other")  # the one that was thrown out is as good as before


_LOCKED_FOR_EVER = """
import sys
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.wait import Wait
from bench.systems.zookeeper.lock import ZooKeeperLock
endpoint = Endpoint((("127.0.0.1", int(sys.argv[1])),))
client = ZooKeeperLock.open(endpoint, ClientOptions(ttl_ms=4_000, call_timeout_ms=500))
client.acquire(sys.argv[2], 4_000, 0, Wait("try"))
answer = client._session.kazoo.handler.async_result()
answer._condition.acquire()  # an exception struck here, before the `with` had begun that would unlock it
client._session.kazoo.handler.completion_queue.put(lambda: answer.set(None))
client.close()
client.close()
print("closed", flush=True)
"""


def test_a_lock_that_an_exception_left_locked_holds_up_neither_close_nor_exit(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint
) -> None:
    command = [sys.executable, "-c", _LOCKED_FOR_EVER, str(endpoint.addresses[0][1]), key]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SOON_MS / 1e3 + 10, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\n", "")
    take(opened("n"), key, TRY)  # and what it held is free: its session was ended


@pytest.mark.parametrize("wait", [WATCH, HERD], ids=str)
@pytest.mark.parametrize("whose", ["own", "own and the parent"])
def test_a_waiter_whose_entry_is_deleted_is_told_at_once(
    opened: Callable[..., LockClient], key: str, whose: str, wait: Wait
) -> None:
    holder, waiter = opened("h"), opened("w")
    take(holder, key)
    operator = opened("o")
    assert isinstance(operator, ZooKeeperLock)
    kazoo = operator._session.kazoo

    def delete() -> None:
        eventually(lambda: len(queue(operator, key)) == 2, SOON_MS, "nobody waits")
        names = sorted(kazoo.get_children(f"/lockbench/{key}"), reverse=True)  # the waiter's first
        for name in names if "parent" in whose else [n for n in names if n.startswith("w-")]:
            kazoo.delete(f"/lockbench/{key}/{name}")

    thread = threading.Thread(target=delete)
    thread.start()
    began = time.monotonic()
    answer = waiter.acquire(key, TTL_MS, 8_000, wait)
    thread.join()
    assert time.monotonic() - began < TTL_MS / 1e3  # by the event, and not by the waiter's own look
    assert isinstance(answer, Refusal)
    assert (answer.outcome, answer.reason) == (Outcome.LOST, "somebody deleted our node in the queue")


def test_a_herd_sleeps_through_no_release(opened: Callable[..., LockClient], key: str) -> None:
    """The release falls before, between and after the requests of the waiter's set-up."""
    clients = [opened("a"), opened("b")]
    grant = take(clients[0], key)
    for turn in range(60):
        holder, waiter = clients[turn % 2], clients[(turn + 1) % 2]
        pause = threading.Timer(turn % 20 * 0.25 / 1e3, holder.release, [grant])
        began = time.monotonic()
        pause.start()
        grant = take(waiter, key, HERD, 10_000)
        assert time.monotonic() - began < TTL_MS / 1e3, f"hand-off {turn} came by the waiter's own look"
        pause.join()


def test_a_herd_leaves_no_watch(opened: Callable[..., LockClient], key: str) -> None:
    """Our own leaving uses it up, whether we timed out, held at once or held after a wait."""
    holder, waiter = opened("h"), opened("w")
    assert isinstance(waiter, ZooKeeperLock)
    grant = take(holder, key)
    timed_out = waiter.acquire(key, TTL_MS, 50, HERD)
    assert isinstance(timed_out, Refusal)
    assert timed_out.outcome is Outcome.TIMEOUT
    free = threading.Timer(0.05, holder.release, [grant])
    free.start()
    assert waiter.release(take(waiter, key, HERD, 3_000)) is RELEASED
    free.join()
    assert waiter.release(take(waiter, key, HERD)) is RELEASED
    kazoo = waiter._session.kazoo
    watched = lambda: [path for path in [*kazoo._child_watchers, *kazoo._data_watchers] if key in path]  # noqa: E731
    eventually(lambda: not watched(), SOON_MS, "a watch stayed")


@pytest.mark.parametrize("wait", [WATCH, HERD], ids=str)
def test_a_waiter_whose_event_is_lost_looks_once_a_session_timeout(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint, wait: Wait
) -> None:
    waiter = ZooKeeperLock.open(endpoint, ClientOptions(client="w", ttl_ms=1_000))
    holder = opened("h")
    grant = take(holder, key)
    waiter._contenders._wake = lambda _: None  # type: ignore[method-assign]
    free = threading.Timer(0.2, holder.release, [grant])
    free.start()
    began = time.monotonic()
    answer = waiter.acquire(key, 1_000, 10_000, wait)
    took_s = time.monotonic() - began
    free.join()
    waiter.close()
    assert isinstance(answer, Grant)
    assert 0.9 < took_s < 3.0


def test_an_end_of_the_session_is_told_as_that(opened: Callable[..., LockClient], key: str, endpoint: Endpoint) -> None:
    wire = ProxyWire(endpoint, 0)
    holder, waiter = opened("h"), opened("w", wire.endpoint)
    take(holder, key)
    cut = threading.Timer(0.5, wire.drop)
    mend = threading.Timer(0.5 + 1.5 * TTL_MS / 1e3, wire.restore)
    cut.start()
    mend.start()
    answer = waiter.acquire(key, TTL_MS, 3 * TTL_MS, WATCH)
    mend.join()
    wire.close()
    assert isinstance(answer, Refusal)
    assert "session" in answer.reason


def test_a_loss_that_was_told_stays_when_the_session_comes_back(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint
) -> None:
    """The servers stand still for longer than the session: they cannot have ended it, and the client cannot know."""
    wire = ProxyWire(endpoint, 0)
    holder = opened("h", wire.endpoint, call_timeout_ms=500)
    assert isinstance(holder, ZooKeeperLock)
    grant = take(holder, key)
    real = holder.clock.monotonic_ns
    offset_ns = 0

    class Shifted:
        """The client's clock, set on by a session's length: as after a suspension."""

        def monotonic_ns(self) -> int:
            return real() + offset_ns

    holder._session._wire._clock = holder.clock = Shifted()  # type: ignore[assignment]
    assert holder.lost(grant) is None
    offset_ns = 2 * TTL_MS * 1_000_000
    told = holder.lost(grant)
    assert told is not None
    offset_ns = 0
    assert holder._lost(grant) is None  # the session lives: what was said is kept by the grant alone
    assert holder.lost(grant) == told
    answer = holder.renew(grant)
    assert isinstance(answer, Refusal)
    assert answer.outcome is Outcome.LOST
    assert holder.release(grant) == answer
    assert queue(holder, key) == []  # and what was left is freed all the same
    wire.close()


@pytest.mark.parametrize("label", ["same", "", "a/b", "\u8a9e \\ \x07", "x" * 300])
def test_two_clients_of_one_name_do_not_touch_each_other(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint, label: str
) -> None:
    wire = ProxyWire(endpoint, 0)
    one, other = opened(label), opened(label, wire.endpoint, call_timeout_ms=3_000)
    grant = take(one, key)
    wire.drop()  # the other's create never arrives, and it looks for its node after it has connected again
    back = threading.Timer(0.2, lambda: (wire.sever(), wire.restore()))
    back.start()
    assert isinstance(other.acquire(key, TTL_MS, 0, TRY), Refusal)
    back.join()
    assert one.renew(grant) == grant
    assert len(queue(one, key)) == 1
    wire.close()


@pytest.mark.parametrize("idle_ms", [0, 1, 50, 300])
def test_a_connection_that_was_closed_while_idle_costs_nothing(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint, idle_ms: int
) -> None:
    wire = ProxyWire(endpoint, 0)
    client = opened("idle", wire.endpoint)
    assert client.release(take(client, key)) is RELEASED
    for count in range(5):
        wire.sever()
        time.sleep(idle_ms / 1e3)  # pace: the idle time is the subject
        assert client.release(take(client, f"{key}-{count}")) is RELEASED
    wire.close()


def test_a_thread_that_comes_late_does_not_ask_again_when_the_call_is_over(
    opened: Callable[..., LockClient], key: str, endpoint: Endpoint
) -> None:
    """The connection is given up at the instant at which the call's time is over; whichever a thread sees first, its
    acquire has failed."""
    proxies = [FaultProxy(address) for address in endpoint.addresses]
    try:
        client = opened(via=endpoint.at(tuple(proxy.address for proxy in proxies)), call_timeout_ms=400)
        assert isinstance(client, ZooKeeperLock)
        client.release(take(client, key))
        client._session._pauses_s = (0.1, 2.0)  # as of a thread that a busy machine kept from looking
        shots = Shots(1)
        for proxy in proxies:
            proxy.hold_requests(key.encode(), shots)
        answer = client.acquire(key, TTL_MS, 0, TRY)
        assert isinstance(answer, Refusal)
        assert answer.outcome in (Outcome.ERROR, Outcome.UNKNOWN), answer
        assert "ConnectionLoss" in answer.reason
        for proxy in proxies:
            proxy.restore()
        take(opened("n"), key, WATCH, SOON_MS)
        assert shots.fired == 1
    finally:
        for proxy in proxies:
            proxy.close()
