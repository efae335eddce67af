"""What is sent to Redis: key names, the three scripts, and commands packed once and kept.

Commands are RESP arrays of bulk strings (https://redis.io/docs/latest/develop/reference/protocol-spec/). The owner
value is the last argument of every script, so all that comes before it can be packed once for a key and a TTL.
"""

import hashlib
from functools import lru_cache
from typing import Final
from urllib.parse import quote

PACKED_KEYS_MAX = 1024  # per kind of command; the least used is packed anew


def bulk(argument: str | bytes) -> bytes:
    """One argument of a command."""
    raw = argument.encode() if isinstance(argument, str) else argument
    return b"$%d\r\n%b\r\n" % (len(raw), raw)


def command(*arguments: str | bytes, to_come: int = 0) -> bytes:
    """A command, or its beginning when `to_come` more arguments will be appended to it."""
    return b"*%d\r\n" % (len(arguments) + to_come) + b"".join(map(bulk, arguments))


class Script:
    """A Lua script of this bench, which takes `key_count` keys and ends its arguments with the owner value."""

    def __init__(self, source: str, key_count: int) -> None:
        self.source: Final = source
        self.sha: Final = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        self.key_count: Final = key_count

    def begin(self, *arguments: str, by_source: bool = False) -> bytes:
        """The call of the script up to, and without, the owner value."""
        how = ("EVAL", self.source) if by_source else ("EVALSHA", self.sha)
        return command(*how, str(self.key_count), *arguments, to_come=1)


# The counter moves only for a winner and in the same atomic step, so the order of tokens is the order of grants.
# Drawing a number first, as NaiveFenceRedisLock does, lets a slower client win later with a smaller number.
# A counter that cannot be raised takes the key along: after an error reply nothing is held.
TAKE = Script(
    """\
if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1]) then
  local token = redis.pcall('INCR', KEYS[2])
  if type(token) == 'table' then redis.call('DEL', KEYS[1]) end
  return token
end
return 0
""",
    key_count=2,
)

# PEXPIRE replaces what is left of the lease, never adds to it, and never brings a vanished key back.
RENEW = Script(
    """\
if redis.call('GET', KEYS[1]) == ARGV[2] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 0
""",
    key_count=1,
)

FREE = Script(
    """\
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
""",
    key_count=1,
)


def names(key: str) -> tuple[str, str]:
    """The Redis keys of the lock and of its fence counter, in one hash slot.

    The part between braces decides the slot of a key in a Redis Cluster, up to the first closing brace: so the lock's
    key is percent-encoded, and `a}b` and `a{b` stay themselves.
    """
    tag = quote(key, safe="")
    return f"lockbench:{{{tag}}}:lock", f"lockbench:{{{tag}}}:fence"


@lru_cache(PACKED_KEYS_MAX)
def begin_take(key: str, ttl_ms: int) -> bytes:
    lock, fence = names(key)
    return TAKE.begin(lock, fence, str(ttl_ms))


@lru_cache(PACKED_KEYS_MAX)
def begin_renew(key: str, ttl_ms: int, by_source: bool = False) -> bytes:
    return RENEW.begin(names(key)[0], str(ttl_ms), by_source=by_source)


@lru_cache(PACKED_KEYS_MAX)
def begin_free(key: str, by_source: bool = False) -> bytes:
    return FREE.begin(names(key)[0], by_source=by_source)


@lru_cache(PACKED_KEYS_MAX)
def around_owner_of_set(key: str, ttl_ms: int) -> tuple[bytes, bytes]:
    """SET lock <owner> NX PX ttl: what stands before and after the owner value."""
    return command("SET", names(key)[0], to_come=4), b"".join(map(bulk, ("NX", "PX", str(ttl_ms))))
