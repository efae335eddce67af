"""The probe sends one command a call, always on a new key, and as many bytes as redis-benchmark."""

from collections.abc import Iterator

import pytest

from bench.calibrate.redis_benchmark import SET, RedisBenchmark
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.base import Grant, Outcome, Refusal, Released
from bench.systems.redis.probe import SetProbe
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import ask, parse_info
from bench.systems.registry import PROBES, SYSTEMS, system
from bench.systems.wait import Wait

pytestmark = pytest.mark.measures


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """A redis-server of this module's own."""
    spec = system("redis").servers
    assert spec is not None
    supervisor = Supervisor(tmp_path_factory.mktemp("home"))
    supervisor.up([spec])
    try:
        yield supervisor.endpoint(spec)
    finally:
        supervisor.down([spec])


def sets_and_bytes(server: Endpoint) -> tuple[int, int, int]:
    """SET commands so far, keys now, and bytes received so far."""
    ((host, port),) = server.addresses
    stats, keys = ask(host, port, command("INFO", "all"), command("DBSIZE"))
    facts = parse_info(stats)
    calls = facts.get("cmdstat_set", "calls=0,").partition(",")[0]
    return int(calls.removeprefix("calls=")), keys, int(facts["total_net_input_bytes"])


@pytest.mark.servers
def test_each_call_stores_one_new_key(server: Endpoint) -> None:
    with SetProbe.open(server) as probe:
        sets, keys, _ = sets_and_bytes(server)
        for _ in range(50):
            grant = probe.acquire("the name does not matter", 10_000, 0, Wait("try"))
            assert isinstance(grant, Grant)
            assert isinstance(probe.release(grant), Released)
        now_sets, now_keys, _ = sets_and_bytes(server)
    assert (now_sets - sets, now_keys - keys) == (100, 100)


@pytest.mark.servers
def test_a_key_that_exists_is_an_error(server: Endpoint) -> None:
    with SetProbe.open(server) as probe:
        first = probe.acquire("k", 10_000, 0, Wait("try"))
        assert isinstance(first, Grant)
        ((host, port),) = server.addresses
        (keys,) = ask(host, port, command("KEYS", f"lockbench-set:*:{0:012d}"))
        ask(host, port, *(command("SET", key[:-12] + b"%012d" % 1, "there") for key in keys))
        second = probe.release(first)
    assert isinstance(second, Refusal)
    assert second.outcome is Outcome.ERROR


@pytest.mark.servers
def test_redis_benchmark_sends_as_many_bytes_for_as_many_new_keys(server: Endpoint) -> None:
    spec = system("redis").servers
    assert spec is not None
    tool = RedisBenchmark.find(None, server)
    told = tool.run(SET, 4)
    assert told.rate_per_s > 0
    _, keys, _ = sets_and_bytes(server)
    assert keys >= 9_990  # at least the sizing run's number, less those drawn twice
    with SetProbe.open(server) as probe:
        before = sets_and_bytes(server)[2]
        empty = sets_and_bytes(server)[2] - before  # what asking costs
        before = sets_and_bytes(server)[2]
        probe.acquire("k", 10_000, 0, Wait("try"))
        one = sets_and_bytes(server)[2] - before - empty
    rand = "0" * 12
    assert one == len(command(*(word.replace("__rand_int__", rand) for word in SET)))


def test_a_probe_is_no_row_of_a_table() -> None:
    assert not set(PROBES) & set(SYSTEMS)
    assert system("redis-set").client_class is SetProbe
