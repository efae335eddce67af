"""The scripts of waiters that are woken. They differ from the lock's own in what they say to those who wait.

What wakes is the last thing that a script does, and `pcall`: a wake-up that the server refuses (a right taken away, no
memory) costs the waiters up to one interval, and never makes an error of a release that took place.
"""

from functools import lru_cache

from bench.systems.redis.scripts import PACKED_KEYS_MAX, Script, names

FREE_AND_PUBLISH = Script(
    """\
if redis.call('GET', KEYS[1]) == ARGV[2] then
  redis.call('DEL', KEYS[1])
  redis.pcall('PUBLISH', ARGV[1], '')
  return 1
end
return 0
""",
    key_count=1,
)

# A wake-up stands for a free key: whoever takes the key takes it along, so nobody is woken for a key that is held.
TAKE_AND_CALL_OFF = Script(
    """\
if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1]) then
  local token = redis.pcall('INCR', KEYS[2])
  if type(token) == 'table' then redis.call('DEL', KEYS[1]) end
  redis.pcall('DEL', KEYS[3])
  return token
end
return 0
""",
    key_count=3,
)

# One element at most, and none for longer than an interval: by then every waiter has looked by itself. A key that is
# free although it was not ours is told as well: by a waiter that took the wake-up and was interrupted before its look.
FREE_AND_PUSH = Script(
    """\
local freed, holder = 0, redis.call('GET', KEYS[1])
if holder == ARGV[2] then
  freed = redis.call('DEL', KEYS[1])
end
if (freed == 1 or not holder) and redis.pcall('LLEN', KEYS[2]) == 0 then
  redis.pcall('RPUSH', KEYS[2], '')
  redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
end
return freed
""",
    key_count=2,
)


EVERY = (FREE_AND_PUBLISH, TAKE_AND_CALL_OFF, FREE_AND_PUSH)


def beside(key: str, what: str) -> str:
    """A name beside the lock's, in its hash slot."""
    return names(key)[0].removesuffix("lock") + what


def channel(key: str) -> str:
    """The channel on which a release is told to all who wait."""
    return beside(key, "freed")


def wake_ups(key: str) -> str:
    """The list from which one waiter pops a wake-up."""
    return beside(key, "wake-up")


@lru_cache(PACKED_KEYS_MAX)
def begin_free_and_publish(key: str) -> bytes:
    return FREE_AND_PUBLISH.begin(names(key)[0], channel(key))


@lru_cache(PACKED_KEYS_MAX)
def begin_take_and_call_off(key: str, ttl_ms: int) -> bytes:
    return TAKE_AND_CALL_OFF.begin(*names(key), wake_ups(key), str(ttl_ms))


@lru_cache(PACKED_KEYS_MAX)
def begin_free_and_push(key: str, kept_ms: int) -> bytes:
    return FREE_AND_PUSH.begin(names(key)[0], wake_ups(key), str(kept_ms))
