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


# Who is first in line. Waiters stand by the time of joining (or one more than the last has, should the server's clock
# have gone back); each keeps its place until an instant of its own, and once that is over it is passed over when it is
# first. All times are the server's.
_FIRST = """\
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', places, '-inf', now)
local first = redis.call('ZRANGE', line, 0, 0)[1]
while first and not redis.call('ZSCORE', places, first) do
  redis.call('ZREM', line, first)
  first = redis.call('ZRANGE', line, 0, 0)[1]
end
"""

# A place is asked for by how long it is to be kept; 0 takes it away.
TAKE_IN_TURN = Script(
    f"""\
local line, places, kept, owner = KEYS[3], KEYS[4], tonumber(ARGV[2]), ARGV[3]
{_FIRST}
if (not first or first == owner) and redis.call('SET', KEYS[1], owner, 'NX', 'PX', ARGV[1]) then
  local token = redis.pcall('INCR', KEYS[2])
  if type(token) == 'table' then redis.call('DEL', KEYS[1]) end
  if first then
    redis.pcall('ZREM', line, owner)
    redis.pcall('ZREM', places, owner)
  end
  return token
end
if kept == 0 then
  redis.call('ZREM', line, owner)
  redis.call('ZREM', places, owner)
  return 0
end
redis.call('ZADD', places, now + kept, owner)
if not redis.call('ZSCORE', line, owner) then
  local last = redis.call('ZRANGE', line, -1, -1, 'WITHSCORES')[2]
  redis.call('ZADD', line, math.max(now, last and last + 1 or 0), owner)
end
for _, name in ipairs({{line, places}}) do
  if redis.call('PTTL', name) < kept then redis.call('PEXPIRE', name, kept) end
end
return 0
""",
    key_count=4,
)

# For a holder and for a waiter: what is ours goes, key or place, and if the key is free then, the first is told.
LEAVE_LINE = Script(
    f"""\
local line, places, owner, freed = KEYS[2], KEYS[3], ARGV[2], 0
redis.call('ZREM', line, owner)
redis.call('ZREM', places, owner)
{_FIRST}
local holder = redis.call('GET', KEYS[1])
if holder == owner then
  freed = redis.call('DEL', KEYS[1])
end
if first and (freed == 1 or not holder) then
  redis.pcall('PUBLISH', ARGV[1] .. first, '')
end
return freed
""",
    key_count=3,
)

EVERY = (FREE_AND_PUBLISH, TAKE_AND_CALL_OFF, FREE_AND_PUSH, TAKE_IN_TURN, LEAVE_LINE)


def beside(key: str, what: str) -> str:
    """A name beside the lock's, in its hash slot."""
    return names(key)[0].removesuffix("lock") + what


def channel(key: str) -> str:
    """The channel on which a release is told to all who wait."""
    return beside(key, "freed")


def wake_ups(key: str) -> str:
    """The list from which one waiter pops a wake-up."""
    return beside(key, "wake-up")


def turn(key: str) -> str:
    """The channel of a waiter in line, up to its owner value."""
    return beside(key, "turn:")


@lru_cache(PACKED_KEYS_MAX)
def begin_free_and_publish(key: str) -> bytes:
    return FREE_AND_PUBLISH.begin(names(key)[0], channel(key))


@lru_cache(PACKED_KEYS_MAX)
def begin_take_and_call_off(key: str, ttl_ms: int) -> bytes:
    return TAKE_AND_CALL_OFF.begin(*names(key), wake_ups(key), str(ttl_ms))


@lru_cache(PACKED_KEYS_MAX)
def begin_free_and_push(key: str, kept_ms: int) -> bytes:
    return FREE_AND_PUSH.begin(names(key)[0], wake_ups(key), str(kept_ms))


@lru_cache(PACKED_KEYS_MAX)
def begin_take_in_turn(key: str, ttl_ms: int, place_ms: int) -> bytes:
    line = beside(key, "line"), beside(key, "places")
    return TAKE_IN_TURN.begin(*names(key), *line, str(ttl_ms), str(place_ms))


@lru_cache(PACKED_KEYS_MAX)
def begin_leave_line(key: str) -> bytes:
    return LEAVE_LINE.begin(names(key)[0], beside(key, "line"), beside(key, "places"), turn(key))
