"""What the Redis adapters send, byte for byte, and the rules that need no server."""

import hiredis
import pytest
from redis.crc import key_slot

from bench.systems.redis.scripts import (
    FREE,
    TAKE,
    around_owner_of_set,
    begin_free,
    begin_renew,
    begin_take,
    bulk,
    command,
    names,
)
from bench.systems.redis.session import EvictingServer, refuse_eviction
from bench.systems.redis.wire import parse_info

ODD_KEYS = ["a/b c", "{x}", "}{", "x}y", "{", "%7B", "ключ", "\n\r", "k" * 512, "é" * 512]


@pytest.mark.parametrize("arguments", [("PING",), ("SET", "", "\r\n", "ключ"), ("GET", "$5\r\nabc"), ("X",) * 12])
def test_commands_are_packed_as_the_client_library_packs_them(arguments: tuple[str, ...]) -> None:
    packed = hiredis.pack_command(arguments)  # type: ignore[arg-type]  # its stub asks for a tuple of one
    assert command(*arguments) == packed


@pytest.mark.parametrize("key", ODD_KEYS)
@pytest.mark.parametrize("owner", ["c1-1", "клиент-12"])
def test_the_owner_completes_what_was_packed_before(key: str, owner: str) -> None:
    lock, fence = names(key)
    assert begin_take(key, 500) + bulk(owner) == command("EVALSHA", TAKE.sha, "2", lock, fence, "500", owner)
    assert begin_free(key) + bulk(owner) == command("EVALSHA", FREE.sha, "1", lock, owner)
    assert begin_free(key, by_source=True) + bulk(owner) == command("EVAL", FREE.source, "1", lock, owner)
    assert (begin_renew(key, 500) + bulk(owner)).endswith(bulk(lock) + bulk("500") + bulk(owner))
    before, after = around_owner_of_set(key, 500)
    assert before + bulk(owner) + after == command("SET", lock, owner, "NX", "PX", "500")


@pytest.mark.parametrize("key", ODD_KEYS)
def test_lock_and_counter_share_a_slot(key: str) -> None:
    lock, fence = names(key)
    assert key_slot(lock.encode()) == key_slot(fence.encode())


def test_no_two_keys_share_a_name() -> None:
    every = [name for key in ODD_KEYS for name in names(key)]
    assert len(set(every)) == len(every)
    assert all(name.isascii() and name.count("{") == name.count("}") == 1 for name in every)


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl", "volatile-lfu", "unheard-of"])
def test_a_server_that_may_evict_is_refused(policy: str) -> None:
    with pytest.raises(EvictingServer, match="maxmemory-policy noeviction"):
        refuse_eviction({"maxmemory": "1000000", "maxmemory_policy": policy}, "a:1")


@pytest.mark.parametrize(("limit", "policy"), [("0", "allkeys-lru"), ("1000000", "noeviction")])
def test_a_server_that_cannot_evict_is_taken(limit: str, policy: str) -> None:
    refuse_eviction({"maxmemory": limit, "maxmemory_policy": policy}, "a:1")


def test_info_is_read_line_by_line() -> None:
    assert parse_info(b"# Server\r\nrun_id:abc\r\n\r\nconfig_file:/a:b\r\nempty:\r\n") == {
        "run_id": "abc",
        "config_file": "/a:b",
        "empty": "",
    }
