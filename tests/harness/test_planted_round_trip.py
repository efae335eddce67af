"""A planted extra round trip is found by the slope: by a clock that nothing disturbs, and on a real server."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.analysis.network.slopes import AGREES_WITHIN, Slope, theil_sen
from bench.records.round_trip import echoing, round_trips_us
from bench.servers.endpoint import Endpoint
from bench.servers.network.lines import open_lines
from bench.systems.base import ClientOptions, Grant
from bench.systems.faulty.link import LINKS, Link
from bench.systems.faulty.lock import FaultyLock
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.variants import NaiveFenceRedisLock
from bench.systems.wait import Wait
from tests.servers.one_redis import OneRedis
from tests.unit.stepping_clock import SteppingClock

TTL_MS = 60_000
TRY = Wait("try")
ONE_WAY_US = (0.0, 1_000.0, 2_500.0, 5_000.0)
ROUNDS = 12  # at each of these: the probe and the client take turns


def by_the_link(fault: str) -> Slope | None:
    """Acquires of `faulty` over its own wire, by a clock that passes only while somebody waits."""
    measured = []
    for rtt_ms in (0, 1, 2, 5):
        name, clock = f"{fault}-{rtt_ms}", SteppingClock()
        LINKS[name] = Link(delay_ms=rtt_ms)
        options = ClientOptions(variant={"fault": fault}, clock=clock)
        with FaultyLock.open(Endpoint(((name, 0),), {"link": name}), options) as client:
            began_ns = clock.monotonic_ns()
            assert isinstance(client.acquire("key", TTL_MS, 0, TRY), Grant)
            measured.append((rtt_ms * 1_000.0, (clock.monotonic_ns() - began_ns) / 1_000, f"rtt={rtt_ms}ms"))
        del LINKS[name]
    return theil_sen(measured)


@pytest.mark.parametrize(("fault", "round_trips"), [("", 1.0), ("extra-round-trip", 2.0)])
def test_the_slope_counts_it(fault: str, round_trips: float) -> None:
    slope = by_the_link(fault)
    assert slope is not None
    assert slope.round_trips == pytest.approx(round_trips)
    assert slope.fixed_us == pytest.approx(0.0, abs=1e-6)


def latencies_us(client: RedisLock, key: str) -> tuple[float, float]:
    """Of one acquire and its release."""
    clock, began_ns = client.clock, client.clock.monotonic_ns()
    grant = client.acquire(key, TTL_MS, 0, TRY)
    held_ns = clock.monotonic_ns()
    assert isinstance(grant, Grant)
    client.release(grant)
    return (held_ns - began_ns) / 1_000, (clock.monotonic_ns() - held_ns) / 1_000


def quick(samples_us: Sequence[float]) -> float:
    """Their lower quartile: whatever else a machine does only makes some of them slower."""
    return statistics.quantiles(samples_us, n=4, method="inclusive")[0]


@pytest.mark.measures
@pytest.mark.servers
@pytest.mark.parametrize("kind", [RedisLock, NaiveFenceRedisLock])
def test_the_clock_counts_what_each_adapter_declares(kind: type[RedisLock], tmp_path: Path) -> None:
    """The variant counts before it sets, in a round trip of its own: so the clock would see one in any adapter."""
    redis = OneRedis(tmp_path / "redis")
    acquires, releases = [], []
    try:
        address = (redis.node.host, redis.node.port)
        with open_lines([address]) as lines, echoing() as echo:
            for each_us in ONE_WAY_US:
                lines.hold(each_us, each_us)
                rtts_us: list[float] = []
                pairs_us: list[tuple[float, float]] = []
                with kind.open(lines.through(Endpoint((address,)))) as client:
                    lines.divert(echo)
                    for number in range(ROUNDS):
                        rtts_us += round_trips_us(lines.places[address], 4, 4)
                        pairs_us += [latencies_us(client, f"key-{each_us}-{number}") for _ in range(2)]
                    lines.divert(None)
                for measured, samples_us in zip((acquires, releases), zip(*pairs_us, strict=True), strict=True):
                    measured.append((quick(rtts_us), quick(samples_us), f"{each_us}"))
    finally:
        redis.kill()
    declared = kind.capabilities
    for measured, round_trips in ((acquires, declared.acquire_round_trips), (releases, declared.release_round_trips)):
        slope = theil_sen(measured)
        assert slope is not None
        assert abs(slope.round_trips - round_trips) <= AGREES_WITHIN, measured
