"""Servers that speak Redis' protocol are called by their own name and version; nothing is guessed."""

import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.redis.lock import RedisLock
from tests.unit.redis_scripted import INFO, ScriptedRedis

# What INFO tells, and what is made of it. The servers' own lines, from their sources and published outputs.
PRODUCTS = {
    "Redis 7": ({"redis_version": "7.0.15", "gcc_version": "12.2.0"}, "7.0.15"),
    "Redis 8": ({"redis_version": "8.2.1", "server_name": "redis"}, "8.2.1"),
    "Valkey 8": (
        {"redis_version": "7.2.4", "server_name": "valkey", "valkey_version": "8.1.1", "valkey_release_stage": "ga"},
        "Valkey 8.1.1",
    ),
    "Valkey that tells its name alone": (
        {"redis_version": "7.2.4", "server_name": "valkey"},
        "Valkey, version not reported, like Redis 7.2.4",
    ),
    "KeyDB": ({"redis_version": "6.3.4", "mvcc_depth": "0"}, "KeyDB, version not reported, like Redis 6.3.4"),
    "Dragonfly": ({"redis_version": "7.4.0", "dragonfly_version": "df-v1.27.1"}, "Dragonfly df-v1.27.1"),
    "Redict": ({"redis_version": "7.2.4", "redict_version": "7.3.1"}, "Redict 7.3.1"),
    "Kvrocks": ({"version": "2.9.0", "kvrocks_version": "2.9.0", "redis_version": "4.0.0"}, "Kvrocks 2.9.0"),
    "Garnet": ({"garnet_version": "1.0.44", "redis_version": "7.2.5"}, "Garnet 1.0.44"),
    "a name that nobody knows": (
        {"redis_version": "7.0.0", "server_name": "novelty"},
        "Novelty, version not reported, like Redis 7.0.0",
    ),
    "nothing": ({}, "not reported"),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_server_is_called_what_it_says(name: str) -> None:
    told, version = PRODUCTS[name]
    base = {key: value for key, value in INFO.items() if key != "redis_version"}
    with (
        ScriptedRedis(lambda _: b"+OK\r\n", {**base, **told}) as server,
        RedisLock.open(Endpoint((server.address,))) as client,
    ):
        facts = client.server_facts()
    assert facts.version == version
    assert set(facts.durability.values()) == {"not reported"}
