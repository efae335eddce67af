"""What real servers count of themselves: each view, before and after a known number of locks."""

import math
from collections.abc import Iterator

import pytest

from bench.servers.counters import gained
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import ClientOptions, Grant, Released
from bench.systems.registry import SYSTEMS, System
from bench.systems.wait import Wait

PAIRS = 200
TRY = Wait("try")
REAL = ("redis", "redis-aof", "redlock", "zookeeper", "etcd", "postgres-row", "postgres-advisory", "dynamodb")
TOLD = {
    "redis": {"execute", "evalsha", "set", "get", "incr", "del"},
    "redis-aof": {"execute", "evalsha", "set", "get", "incr", "del"},
    "redlock": {"execute", "eval", "set", "get", "del"},
    "zookeeper": {"answer", "read_answer", "quorum_ack"},
    "etcd": {"answer", "fsync", "backend_commit"},
    "postgres-row": {"execute"},
    "postgres-advisory": {"execute"},
    "dynamodb": set(),
}
PROBED = {"peer_round_trip"}  # etcd measures it when it likes, and shows nothing before the first time


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """The real servers of all systems, private to this module."""
    own = Supervisor(tmp_path_factory.mktemp("views"))
    specs = {SYSTEMS[name].servers.name: SYSTEMS[name].servers for name in REAL if SYSTEMS[name].servers}
    own.up(list(specs.values()))
    yield own
    own.down(list(specs.values()))


def endpoint_of(supervisor: Supervisor, entry: System) -> Endpoint:
    assert entry.servers is not None
    supervisor.configure(entry.servers, entry.server_variant)
    return supervisor.endpoint(entry.servers)


def lock_and_free(entry: System, endpoint: Endpoint, pairs: int) -> None:
    with entry.client_class.open(endpoint, ClientOptions()) as client:
        for _ in range(pairs):
            grant = client.acquire("views", 10_000, 2_000, TRY)
            assert isinstance(grant, Grant), grant
            assert isinstance(client.release(grant), Released)


@pytest.fixture(scope="module")
def seen(supervisor: Supervisor) -> dict[str, dict[str, float]]:
    """By system: what its servers gained while one client took and freed a lock 200 times."""
    found = {}
    for name in REAL:
        entry = SYSTEMS[name]
        assert entry.servers is not None
        endpoint = endpoint_of(supervisor, entry)
        lock_and_free(entry, endpoint, 1)  # makes the key, loads the scripts
        before = entry.servers.view(endpoint)
        lock_and_free(entry, endpoint, PAIRS)
        found[name] = gained(before, entry.servers.view(endpoint))
    return found


@pytest.mark.servers
@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("redis", 2, 2.1),  # take and free
        ("redlock", 10, 10.5),  # the same of five servers
        ("zookeeper", 3, 3.5),  # create, read the queue, delete; and pings
        ("etcd", 2, 2.5),  # two transactions; and keep-alives
    ],
)
def test_the_requests_of_a_pair_are_counted(
    seen: dict[str, dict[str, float]], name: str, least: float, most: float
) -> None:
    assert least * PAIRS <= seen[name]["requests"] <= most * PAIRS + 60, "60 to connect, and to ask"


@pytest.mark.servers
def test_who_does_not_count_requests_says_nothing(seen: dict[str, dict[str, float]]) -> None:
    assert not [name for name in ("postgres-row", "postgres-advisory", "dynamodb") if "requests" in seen[name]]


@pytest.mark.servers
@pytest.mark.parametrize("name", REAL)
def test_every_value_is_a_finite_number_that_rose(seen: dict[str, dict[str, float]], name: str) -> None:
    assert all(math.isfinite(value) and value >= 0.0 for value in seen[name].values()), seen[name]
    timed_names = {key.removesuffix("_us") for key in seen[name] if key.endswith("_us")}
    assert timed_names - PROBED == TOLD[name]
    for timed in TOLD[name]:
        assert f"{timed}_calls" in seen[name], "a sum without its count is no duration"


@pytest.mark.servers
@pytest.mark.parametrize(
    ("name", "counter", "least", "most"),
    [
        ("redis", "execute_calls", 2 * PAIRS + 1, 2 * PAIRS + 1),  # one script takes, one frees; one tries the rights
        ("redis", "set_calls", PAIRS, PAIRS),
        ("redis", "incr_calls", PAIRS, PAIRS),
        ("redlock", "execute_calls", 5 * PAIRS, 5 * PAIRS),  # SET on five nodes
        # A node that answers after its time limit is asked once more to forget: on a busy machine now and then.
        ("redlock", "eval_calls", 5 * PAIRS + 5, 5 * PAIRS + 25),
        # A member may also have been asked for a session or a lease, and others' keepalives go on.
        ("zookeeper", "answer_calls", 2 * PAIRS, 2 * PAIRS + 10),
        ("zookeeper", "quorum_ack_calls", 2 * PAIRS, 2 * PAIRS + 10),
        ("etcd", "answer_calls", 2 * PAIRS, 2 * PAIRS),
        # A majority of three flushes each of the two writes of a pair; one that lags may flush several at once.
        ("etcd", "fsync_calls", 2 * PAIRS * 2, 2 * PAIRS * 3 + 30),
        ("postgres-row", "execute_calls", PAIRS, PAIRS),
        ("postgres-advisory", "execute_calls", PAIRS, PAIRS),
    ],
)
def test_the_servers_counted_our_locks(
    seen: dict[str, dict[str, float]], name: str, counter: str, least: int, most: int
) -> None:
    assert least <= seen[name][counter] <= most


@pytest.mark.servers
@pytest.mark.parametrize("name", ["redis", "redlock", "etcd", "zookeeper", "postgres-row", "postgres-advisory"])
def test_the_time_of_a_call_is_in_microseconds(seen: dict[str, dict[str, float]], name: str) -> None:
    """A wrong unit is wrong by a thousand: a lock is answered in more than 0.05 µs and less than 0.2 s."""
    timed = "answer" if "answer_calls" in seen[name] else "execute"
    mean_us = seen[name][f"{timed}_us"] / seen[name][f"{timed}_calls"]
    assert 0.05 < mean_us < 200_000.0
    if name in ("etcd", "zookeeper"):
        assert mean_us > 20.0, "an answer that three servers agreed on took no time"


@pytest.mark.servers
def test_redis_histogram_counts_every_call_once(seen: dict[str, dict[str, float]]) -> None:
    for name, command in (("redis", "evalsha"), ("redlock", "set")):
        buckets = [value for key, value in seen[name].items() if key.startswith(f"{command}_within_")]
        assert sum(buckets) == seen[name][f"{command}_calls"]


@pytest.mark.servers
def test_zookeepers_cut_milliseconds_are_no_duration(seen: dict[str, dict[str, float]]) -> None:
    assert seen["zookeeper"]["fsync_calls"] > PAIRS
    assert "fsync_us" not in seen["zookeeper"]


@pytest.mark.servers
def test_postgres_times_its_flushes_only_where_told_to(
    supervisor: Supervisor, seen: dict[str, dict[str, float]]
) -> None:
    # Counted when a session ends or idles: the sessions of these locks may have told theirs only in part.
    assert "fsync_calls" in seen["postgres-row"]
    assert "fsync_us" not in seen["postgres-row"], "track_wal_io_timing is off in our servers"


@pytest.mark.servers
@pytest.mark.parametrize("name", ["redis", "redlock", "zookeeper", "etcd", "postgres-row"])
def test_a_server_that_does_not_answer_is_told_by_address(name: str) -> None:
    """Left out of a sum, it would look like counters that fell."""
    spec = SYSTEMS[name].servers
    assert spec is not None
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:1"):
        spec.view(Endpoint((("127.0.0.1", 1),)))


def test_gained_is_the_difference_and_begins_at_nothing() -> None:
    assert gained({"a_calls": 3.0}, {"a_calls": 5.0, "b_calls": 7.0}) == {"a_calls": 2.0, "b_calls": 7.0}
    assert gained({}, {}) == {}


@pytest.mark.parametrize("after", [{"a_calls": 2.0, "b_calls": 9.0}, {"b_calls": 9.0}])
def test_a_restart_in_between_leaves_no_difference(after: dict[str, float]) -> None:
    assert gained({"a_calls": 3.0, "b_calls": 1.0}, after) == {}
