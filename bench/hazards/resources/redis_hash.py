"""A hash in Redis with the highest token in a field. Atomic because Redis runs a script alone, from begin to end."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Self
from urllib.parse import quote

from redis.exceptions import RedisError

from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    HostOnServers,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceUnreachable,
)
from bench.servers.endpoint import Endpoint
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import Wire, new_wire

# KEYS: the hash, the log (a list), the entries of the log by attempt (a hash).
# ARGV: attempt, token or '', fence, rule, value or '' (a presentation), the whole attempt as JSON for a log's readers.
# Tokens and values have 64 bits and Lua's numbers 53: they stay strings, and are compared by length, then by digits.
_JUDGE = """\
local function below(a, b) return #a < #b or (#a == #b and a < b) end
local past = redis.call('HGET', KEYS[3], ARGV[1])
if past then return past end
local kept = redis.call('HMGET', KEYS[1], 'value', 'highest')
local value, highest, token = kept[1] or '0', kept[2] or '0', ARGV[2]
local ok = ARGV[3] == '0' or token == '' or below(highest, token) or (token == highest and ARGV[4] == 'below')
local order = redis.call('HINCRBY', KEYS[1], 'judged', 1)
if ok then
  if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'value', ARGV[5]) end
  if token ~= '' and below(highest, token) then redis.call('HSET', KEYS[1], 'highest', token) end
end
local entry = table.concat({ARGV[1], order, ok and 1 or 0, highest, value, ARGV[6]}, ' ')
redis.call('RPUSH', KEYS[2], entry)
redis.call('HSET', KEYS[3], ARGV[1], entry)
return entry
"""


class RedisHash(Resource):
    """One connection of its own, replaced by the next call when it is lost."""

    kind: ClassVar[str] = "redis-hash"

    def __init__(self, endpoint: Endpoint, space: str) -> None:
        self._endpoint = endpoint
        self._space = space
        host, port = endpoint.addresses[0]
        self._wire: Wire = new_wire(endpoint, host, port, ANSWER_WITHIN_S)

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(Endpoint.from_tree(place["endpoint"]), place["space"])
        opened._call("PING")
        return opened

    def read(self, key: str) -> Reading:
        value, highest = self._call("HMGET", self._name(key, "kept"), "value", "highest")
        return Reading(int(value or 0), int(highest or 0))

    def write(self, attempt: Attempt) -> Judged:
        names = [self._name(attempt.key, part) for part in ("kept", "log", "verdicts")]
        token, value = ("" if number is None else str(number) for number in (attempt.token, attempt.value))
        fence = "1" if attempt.fence else "0"
        whole = json.dumps(attempt.to_tree())
        arguments = (quote(attempt.attempt_id), token, fence, attempt.rule.value, value, whole)
        return _verdict(self._call("EVAL", _JUDGE, str(len(names)), *names, *arguments))

    def judged(self, key: str) -> Sequence[Judged]:
        return [_verdict(entry) for entry in self._call("LRANGE", self._name(key, "log"), "0", "-1")]

    def close(self) -> None:
        self._wire.disconnect()

    def _name(self, key: str, part: str) -> str:
        """One hash slot for a key's parts. Percent-encoded: the first closing brace ends what decides the slot."""
        return f"lockbench-resource:{{{self._space}:{quote(key, safe='')}}}:{part}"

    def _call(self, *words: str) -> Any:
        """One command, sent once. After a failure the connection is given up, with the reply that may yet come."""
        answered = False
        try:
            if not self._wire.is_connected:
                self._wire.greet()
            self._wire.send_packed_command((command(*words),), False)
            reply = self._wire.read_response()
            answered = True
        except RedisError as failed:
            raise ResourceUnreachable(f"Redis at {self._endpoint}: {failed}") from failed
        finally:
            if not answered:
                self._wire.disconnect()
        return reply


class RedisHashHost(HostOnServers):
    """Has nothing to prepare. Hashes and log stay in the server."""

    resource: ClassVar[type[Resource]] = RedisHash


def _verdict(entry: bytes) -> Judged:
    whole = entry.decode().split(" ", 5)
    order, accepted, highest_before, value_before = map(int, whole[1:5])
    return Judged(json.loads(whole[5])["attempt_id"], order, accepted == 1, highest_before, value_before)
