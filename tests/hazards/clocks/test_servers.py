"""Real servers, their wall clocks stepped while they run: what the step ends, and what it must not touch."""

import base64
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from bench.hazards.clocks.observed import NotTold, seen_offset
from bench.hazards.clocks.process_clock import ProcessClock
from bench.hazards.clocks.refusal import CannotStep
from bench.hazards.clocks.server_clock import OFFSET_MS_MAX, ServerClock
from bench.servers.endpoint import Endpoint
from bench.servers.running.state import NodeState
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Node
from bench.systems.base import ClientOptions, Grant, LockClient, Outcome, Refusal, Released
from bench.systems.etcd.gateway import Gateway
from bench.systems.postgres_row.session import Session
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import ask
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait

pytestmark = pytest.mark.servers
REAL = ("redis", "redlock", "zookeeper", "etcd", "postgres-row", "dynamodb")
HOUR_MS = 3_600_000.0
TRY = Wait("try")
STEPS = 50


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """The real servers of all systems, private to this module."""
    own = Supervisor(tmp_path_factory.mktemp("clocks"))
    specs = [servers for name in REAL if (servers := SYSTEMS[name].servers)]
    own.up(specs)
    yield own
    own.down(specs)


def nodes_of(supervisor: Supervisor, name: str) -> tuple[NodeState, ...]:
    servers = SYSTEMS[name].servers
    assert servers is not None
    return supervisor.running(servers).nodes


@pytest.fixture
def redis(supervisor: Supervisor) -> NodeState:
    (node,) = nodes_of(supervisor, "redis")
    say(node, "FLUSHALL")
    return node


def say(node: NodeState, *words: str) -> object:
    return ask(node.node.host, node.node.port, command(*words))[0]


def open_client(supervisor: Supervisor, name: str, ttl_ms: int = 10_000) -> LockClient:
    servers = SYSTEMS[name].servers
    assert servers is not None
    return SYSTEMS[name].client_class.open(supervisor.endpoint(servers), ClientOptions(ttl_ms=ttl_ms))


def assert_seen(name: str, node: NodeState, offset_ms: float) -> None:
    seen = seen_offset(name, node)
    assert seen.agrees_with(offset_ms), f"{node.node.name}: {seen}, not {offset_ms:+} ms"


def test_a_server_runs_fast_by_its_rate_and_then_as_the_machine_again(redis: NodeState) -> None:
    with ServerClock.of(redis) as clock:
        start_us = clock.drift(0.02)
        for _ in range(3):
            time.sleep(0.2)  # pace: the time over which the clock gains
            asked_ms = time.time_ns() / 1e6 - start_us / 1e3
            seen = seen_offset("redis", redis)
            answered_ms = time.time_ns() / 1e6 - start_us / 1e3
            assert seen.least_ms <= 0.02 * answered_ms, seen
            assert seen.most_ms >= 0.02 * asked_ms, seen
        for rate in (float("nan"), 0.6, -0.6):
            with pytest.raises(ValueError, match="rate is"):
                clock.drift(rate)
    assert_seen("redis", redis, 0.0)


@pytest.mark.parametrize("name", REAL)
def test_the_server_itself_tells_the_new_time_and_then_the_old(supervisor: Supervisor, name: str) -> None:
    for node in nodes_of(supervisor, name)[:3]:
        assert_seen(name, node, 0.0)
        with ServerClock.of(node) as clock:
            assert clock.offset_ms == 0.0
            for offset_ms in (HOUR_MS, -2_500.0) if name != "dynamodb" else (HOUR_MS,):
                clock.step(offset_ms)
                assert clock.offset_ms == offset_ms
                assert_seen(name, node, offset_ms)
                assert not seen_offset(name, node).agrees_with(0.0)
            clock.back()
            assert_seen(name, node, 0.0)
            clock.step(HOUR_MS)
        assert clock.offset_ms == 0.0
        process = node.process
        assert process is not None
        assert ProcessClock(process.pid).offset_us() is None
        assert_seen(name, node, 0.0)


def test_a_redis_key_expires_by_the_wall_clock_at_once(redis: NodeState) -> None:
    with ServerClock.of(redis) as clock:
        say(redis, "SET", "lock", "a", "PX", "10000")
        clock.step(11_000.0)
        assert say(redis, "GET", "lock") is None
        assert say(redis, "SET", "lock", "b", "NX", "PX", "10000") == b"OK"


def test_a_smaller_step_shortens_the_lease_by_itself(redis: NodeState) -> None:
    with ServerClock.of(redis) as clock:
        say(redis, "SET", "lock", "a", "PX", "60000")
        end_ms = lease_end_ms(redis)
        for offset_ms in (1_000.0, -5_000.0, 10.0):
            clock.step(offset_ms)
            assert lease_end_ms(redis) == pytest.approx(end_ms - offset_ms, abs=5)
    assert lease_end_ms(redis) == pytest.approx(end_ms, abs=5)


def lease_end_ms(redis: NodeState) -> float:
    """When the key will expire, on our monotonic clock: of several looks the quickest, which met no pause."""
    looks = []
    for _ in range(20):
        before = time.monotonic()
        left_ms = say(redis, "PTTL", "lock")
        after = time.monotonic()
        assert isinstance(left_ms, int)
        looks.append((after - before, after * 1_000 + left_ms))
    return min(looks)[1]


def test_redis_timers_run_on_by_the_steady_clock(redis: NodeState) -> None:
    """Its own tick removes keys that nobody asks for. By a clock that went back an hour it would rest for an hour."""
    with ServerClock.of(redis) as clock:
        clock.step(-HOUR_MS)
        say(redis, "SET", "lock", "a", "PX", "300")
        assert say(redis, "DBSIZE") == 1
        until(lambda: say(redis, "DBSIZE") == 0)


def test_five_redlock_nodes_step_apart(supervisor: Supervisor) -> None:
    nodes = nodes_of(supervisor, "redlock")
    assert len(nodes) == 5
    clocks = [ServerClock.of(node) for node in nodes]
    offsets_ms = [0.0, 1.0, -1_000.0, 11_000.0, 0.25]
    try:
        for clock, offset_ms in zip(clocks, offsets_ms, strict=True):
            clock.step(offset_ms)
        for node, offset_ms in zip(nodes, offsets_ms, strict=True):
            assert_seen("redlock", node, offset_ms)
        clocks[3].back()
        assert_seen("redlock", nodes[3], 0.0)
        assert_seen("redlock", nodes[2], -1_000.0)
    finally:
        for clock in clocks:
            clock.remove()
    for node in nodes:
        assert_seen("redlock", node, 0.0)


def test_redlock_is_granted_twice_when_three_clocks_jump(supervisor: Supervisor) -> None:
    nodes = nodes_of(supervisor, "redlock")
    with open_client(supervisor, "redlock") as first, open_client(supervisor, "redlock") as second:
        grant = first.acquire("jumped", 30_000, 0, TRY)
        assert isinstance(grant, Grant)
        refused = second.acquire("jumped", 30_000, 0, TRY)
        assert isinstance(refused, Refusal)
        assert refused.outcome is Outcome.BUSY
        clocks = [ServerClock.of(node) for node in nodes[:3]]
        try:
            for clock in clocks:
                clock.step(31_000.0)
            assert isinstance(second.acquire("jumped", 30_000, 0, TRY), Grant)
            assert first.lost(grant) is None
        finally:
            for clock in clocks:
                clock.remove()


def test_sessions_of_postgres_old_and_new_see_the_step(supervisor: Supervisor) -> None:
    (node,) = nodes_of(supervisor, "postgres-row")
    with postgres_session(supervisor) as old, ServerClock.of(node) as clock, postgres_session(supervisor) as entered:
        clock.step(HOUR_MS)
        with postgres_session(supervisor) as new:
            for session in (old, entered, new):
                assert hours_ahead(session) == pytest.approx(1.0, abs=0.01)
            clock.step(-HOUR_MS)
            for session in (old, entered, new):
                assert hours_ahead(session) == pytest.approx(-1.0, abs=0.01)
        clock.remove()
        for session in (old, entered):
            assert hours_ahead(session) == pytest.approx(0.0, abs=0.01)


@contextmanager
def postgres_session(supervisor: Supervisor) -> Iterator[Session]:
    servers = SYSTEMS["postgres-row"].servers
    assert servers is not None
    session = Session.open(supervisor.endpoint(servers), 10.0)
    try:
        yield session
    finally:
        session.close()


def hours_ahead(session: Session) -> float:
    ((seconds,),) = session.execute("SELECT extract(epoch FROM clock_timestamp())", within_s=10.0)
    assert seconds is not None
    return (float(seconds) - time.time()) / 3_600


def test_a_zookeeper_session_outlives_an_hour_of_wall_time(supervisor: Supervisor) -> None:
    name, ttl_ms = "zookeeper", 1_000
    clocks = [ServerClock.of(node) for node in nodes_of(supervisor, name)]
    with open_client(supervisor, name, ttl_ms) as holder, open_client(supervisor, name, ttl_ms) as other:
        grant = holder.acquire("hour", ttl_ms, 5_000, TRY)
        assert isinstance(grant, Grant)
        try:
            for clock in clocks:
                clock.step(HOUR_MS)
            for node in nodes_of(supervisor, name):
                assert_seen(name, node, HOUR_MS)
            time.sleep(
                1.5 * ttl_ms / 1_000
            )  # pace: longer than the session may be silent, and many ticks of the server
            assert holder.lost(grant) is None
            answer = other.acquire("hour", ttl_ms, 0, TRY)
            assert isinstance(answer, Refusal)
            assert answer.outcome is Outcome.BUSY
            assert isinstance(holder.release(grant), Released)
        finally:
            for clock in clocks:
                clock.remove()


def test_an_etcd_lease_loses_nothing_by_an_hour_of_wall_time(supervisor: Supervisor) -> None:
    nodes = nodes_of(supervisor, "etcd")
    gateway = Gateway(Endpoint(((nodes[0].node.host, nodes[0].node.port),)), 5.0)
    lease = gateway._post("/v3/lease/grant", {"TTL": "60"})["ID"]
    key = base64.b64encode(b"clock").decode()
    gateway._post("/v3/kv/put", {"key": key, "value": key, "lease": lease})
    clocks = [ServerClock.of(node) for node in nodes]
    try:
        for clock in clocks:
            clock.step(HOUR_MS)
        for node in nodes:
            assert_seen("etcd", node, HOUR_MS)
        time.sleep(1.2)  # pace: etcd looks for leases that have run out twice a second
        left = gateway._post("/v3/lease/timetolive", {"ID": lease})
        assert 40 <= int(left["TTL"]) < 60, left
        assert gateway._post("/v3/kv/range", {"key": key})["count"] == "1"
    finally:
        for clock in clocks:
            clock.remove()
        gateway._post("/v3/lease/revoke", {"ID": lease})


@pytest.mark.parametrize("name", ["redis", "etcd", "postgres-row", "zookeeper"])
def test_fifty_steps_under_load_leave_the_server_alive_and_right(supervisor: Supervisor, name: str) -> None:
    """Each step with the change and its undoing: the moments in which code is written. Leases are longer than steps."""
    nodes = nodes_of(supervisor, name)
    servers = SYSTEMS[name].servers
    assert servers is not None
    identities = [servers.prove(node.node, node.process.pid) for node in nodes if node.process]
    stop = threading.Event()
    failures: list[object] = []
    tokens: list[int] = []

    def lock_and_free() -> None:
        with open_client(supervisor, name, 60_000) as client:
            while not stop.is_set():
                grant = client.acquire("load", 60_000, 5_000, TRY)
                if not isinstance(grant, Grant) or grant.token is None:
                    failures.append(grant)
                    return
                answer = client.release(grant)
                if not isinstance(answer, Released):
                    failures.append(answer)
                    return
                tokens.append(grant.token)

    worker = threading.Thread(target=lock_and_free)
    worker.start()
    try:
        for number in range(STEPS):
            done = len(tokens)  # each step sees a lock freed
            with ServerClock.of(nodes[number % len(nodes)]) as clock:
                clock.step(20_000.0 - 800.0 * (number % 50))
                until(lambda done=done: len(tokens) > done or bool(failures))  # type: ignore[misc]
    finally:
        stop.set()
        worker.join(timeout=30.0)
    assert not failures, failures
    assert all(later > earlier for earlier, later in pairwise(tokens))
    assert len(tokens) >= STEPS
    assert identities == [servers.prove(node.node, node.process.pid) for node in nodes if node.process]
    for node in nodes:
        assert_seen(name, node, 0.0)


def until(seen: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30.0
    while not seen():
        assert time.monotonic() < give_up
        time.sleep(0.0005)  # pace: between two looks, bounded by the deadline


def test_a_system_without_a_server_tells_no_time() -> None:
    with pytest.raises(NotTold, match="no server"):
        seen_offset("null", NodeState(Node("null", {"client": 1}, Path()), "", Path()))


@pytest.mark.parametrize("offset_ms", [float("nan"), float("inf"), OFFSET_MS_MAX + 1.0, -OFFSET_MS_MAX - 1.0])
def test_an_offset_beyond_reason_is_a_mistake(redis: NodeState, offset_ms: float) -> None:
    with ServerClock.of(redis) as clock:
        with pytest.raises(ValueError, match="offset_ms"):
            clock.step(offset_ms)
        assert clock.offset_ms == 0.0


def test_a_server_that_ended_within_the_block(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = Supervisor(tmp_path_factory.mktemp("ended"))
    servers = SYSTEMS["redis"].servers
    assert servers is not None
    own.up([servers])
    (node,) = own.running(servers).nodes
    with ServerClock.of(node) as clock:
        clock.step(HOUR_MS)
        own.down([servers])
        with pytest.raises(ProcessLookupError, match="is gone"):
            clock.back()
    with pytest.raises(CannotStep, match="is no process of ours"):
        ServerClock.of(node)
    with pytest.raises(NotTold, match="did not tell its time"):
        seen_offset("redis", node)
