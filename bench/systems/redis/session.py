"""One connection to one Redis server, greeted: who answers, what it allows, and lost connections ended there."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from redis.exceptions import InvalidResponse

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.redis.products import NOT_REPORTED
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import FREE, RENEW, TAKE, Script, command
from bench.systems.redis.wire import Wire, new_wire, parse_info

# What the scripts do, tried where nothing can come of it: in a script that may not write. The server looks for the
# user's right first, so one who lacks it learns that (in two wordings), and others that this script may not write.
# Servers before 7 do not know such scripts and refuse it: their users' rights show when they are used.
_TRY = Script(
    """\
#!lua flags=no-writes
local more = {set = {'', 'NX', 'PX', 1}, pexpire = {1}}
local lacking = {}
for _, name in ipairs(ARGV) do
  local answer = redis.pcall(name, KEYS[name == 'incr' and 2 or 1], unpack(more[name] or {}))
  local err = type(answer) == 'table' and answer.err or ''
  if string.find(err, 'NOPERM', 1, true) or string.find(err, 'user executing the script', 1, true) then
    table.insert(lacking, name)
  end
end
return lacking
""",
    key_count=2,
)
_KEYS = ("lockbench:{?}:lock", "lockbench:{?}:fence")  # no lock's: a key's question mark is percent-encoded
_IN_SCRIPTS = ("get", "set", "pexpire", "del")
_NOBODY = str(2**63 - 1)  # the number of a connection that no server lives to see
LOAD_SCRIPTS = tuple(command("SCRIPT", "LOAD", script.source) for script in (TAKE, RENEW, FREE))

# What is said first, with the right that it takes. Adapters run their scripts by digest, or by source on servers that
# may not have them (Redlock's).
_ALWAYS = (
    ("info", command("INFO")),
    ("client|id", command("CLIENT", "ID")),
    ("client|kill", command("CLIENT", "KILL", "ID", _NOBODY)),
)
_BY_DIGEST = (
    *(("script|load", load) for load in LOAD_SCRIPTS),
    ("script|load", command("SCRIPT", "LOAD", _TRY.source)),
    ("evalsha", command("EVALSHA", _TRY.sha, "2", *_KEYS, *_IN_SCRIPTS, "incr")),
)
_BY_SOURCE = (("eval", command("EVAL", _TRY.source, "2", *_KEYS, *_IN_SCRIPTS)),)


class UnfitServer(LockbenchError, RuntimeError):
    """A server on which a lock would mean nothing."""


class EvictingServer(UnfitServer):
    """The server may throw locks away to make room."""


def refuse_eviction(info: Mapping[str, str], address: str) -> None:
    """Raise EvictingServer for a server that may throw locks away to make room.

    The volatile policies choose among keys with a TTL, which is what locks are, and the allkeys policies among all, the
    fence counter included. Without a memory limit nothing is ever evicted, whatever the policy.
    """
    policy = info.get("maxmemory_policy", "unknown")
    if int(info.get("maxmemory", "0")) > 0 and policy != "noeviction":
        raise EvictingServer(
            f"redis at {address} may evict locks (maxmemory {info['maxmemory']}, maxmemory-policy {policy}): "
            f"use a server with maxmemory-policy noeviction"
        )


@dataclass(frozen=True, slots=True)
class Lost:
    """A connection that was given up, perhaps with a command of ours still on the way."""

    run_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Session:
    """A connection and what its server said of itself when it was made."""

    wire: Wire
    number: int  # this connection's, at the server
    info: Mapping[str, str]  # INFO

    @property
    def run_id(self) -> str:
        """The server's own, new with every start of it."""
        return self.info.get("run_id", NOT_REPORTED)

    @classmethod
    def make(cls, endpoint: Endpoint, node: int, step_s: float, lost: Iterable[Lost], by_source: bool) -> Self:
        """Connect, greet, and end the `lost` connections at the server: three steps, each within `step_s`.

        What was on the way over a lost connection then reaches a closed door, and what the new one sees is final.
        Raises RedisError, and UnfitServer.
        """
        host, port = endpoint.addresses[node]
        wire = new_wire(endpoint, host, port, step_s)
        made = False
        try:
            session = cls._greet(wire, f"{host}:{port}", _ALWAYS + (_BY_SOURCE if by_source else _BY_DIGEST))
            # A server that was started again knows nothing of old connections, and others may have their numbers.
            ended = [command("CLIENT", "KILL", "ID", str(one.number)) for one in lost if one.run_id == session.run_id]
            for reply in wire.together(*ended):
                if isinstance(reply, ErrorReply):
                    raise reply
            made = True
        finally:
            if not made:
                wire.disconnect()
        return session

    @classmethod
    def _greet(cls, wire: Wire, address: str, asked: tuple[tuple[str, bytes], ...]) -> Self:
        replies = wire.greet(*(packed for _, packed in asked))
        lacking = []
        for (right, _), reply in zip(asked, replies, strict=True):
            if isinstance(reply, ErrorReply) and reply.word == "NOPERM":
                lacking.append("~lockbench:*" if re.search("access (a|one of the) key", str(reply)) else right)
        tried = replies[-1]
        if isinstance(tried, list):
            lacking += [str(name, "ascii") for name in tried]
        if lacking:
            raise ErrorReply(f"NOPERM for {', '.join(dict.fromkeys(lacking))}")
        info, number = replies[:2]
        for reply in (info, number):
            if isinstance(reply, ErrorReply):
                raise reply
        if not isinstance(info, bytes) or not isinstance(number, int):
            raise InvalidResponse(f"{address} does not greet as Redis does: {str(info)[:60]!r}")
        facts = parse_info(info)
        refuse_eviction(facts, address)
        return cls(wire, number, facts)
