"""One session with one Redis server: every call bounded, none repeated, and no command of ours left on the way."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.clock import Clock
from bench.systems.redis.scripts import FREE, RENEW, TAKE, command
from bench.systems.redis.wire import new_wire, parse_info

_INFO = command("INFO")
_CLIENT_ID = command("CLIENT", "ID")
_DURABILITY = ("appendonly", "appendfsync", "save")
_LOAD_SCRIPTS = tuple(command("SCRIPT", "LOAD", script.source) for script in (TAKE, RENEW, FREE))


class EvictingServer(RuntimeError):
    """The server may throw locks away to make room; no lock on it means anything."""


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


class Link:
    """A connection that knows whether a command of its own may still be on the way.

    It is in doubt between the sending of a command and its reply. When a connection is lost in doubt, the command may
    yet arrive, from a slow network or a stopped proxy, long after a new connection looked and found nothing. So `open`
    first has the server end the old session (CLIENT KILL by its number): what is on the way then reaches a closed door,
    and what the new connection sees is final.
    """

    def __init__(self, endpoint: Endpoint, node: int, timeout_ms: float, clock: Clock) -> None:
        host, port = endpoint.addresses[node]
        self.address = f"{host}:{port}"
        self._run_id = ""  # the server's own, new with every start of it
        self._version = ""
        self._session = 0  # this connection's number at the server
        self._in_doubt = False
        self._closed = False
        self._clock = clock
        self._timeout_s = timeout_ms / 1000.0
        self._wire = new_wire(endpoint, host, port, self._timeout_s)

    @property
    def is_open(self) -> bool:
        """Connected, and with no reply outstanding that could be taken for the next command's."""
        return self._wire.is_connected and not self._in_doubt

    def still_owes(self) -> bool:
        """Connected, and even now without the reply to the last command. One that came late is taken and dropped."""
        if self._wire.is_connected and self._in_doubt:
            with suppress(RedisError):  # no reply yet, an error as a reply, or a lost connection: told apart below
                self._read(0.0)
        return self._wire.is_connected and self._in_doubt

    def open(self, within_s: float | None = None) -> None:
        """Connect unless open, and end the lost session before using this one. Raises RedisError or EvictingServer."""
        if self._wire.is_connected and not self._in_doubt:
            return
        if self._closed:
            raise RedisConnectionError("this client was closed")
        within_s = self._timeout_s if within_s is None else max(within_s, 0.001)
        give_up_ns = self._clock.monotonic_ns() + round(within_s * 1e9)
        self._wire.disconnect()
        self._wire.socket_connect_timeout = within_s
        greeted = False
        try:
            self._wire.connect()
            greeting = (_INFO, _CLIENT_ID, *_LOAD_SCRIPTS)
            self._wire.send_packed_command((b"".join(greeting),), False)
            info, session, *_ = [self._read_until(give_up_ns) for _ in greeting]
            facts = parse_info(info)
            refuse_eviction(facts, self.address)
            run_id = facts.get("run_id", "not told")
            if self._in_doubt and run_id == self._run_id:  # after a restart nothing of the old session is left to end
                self._wire.send_packed_command((command("CLIENT", "KILL", "ID", str(self._session)),), False)
                self._read_until(give_up_ns)
            self._run_id, self._version, self._session = run_id, facts.get("redis_version", "not told"), session
            self._in_doubt = False
            greeted = True
        finally:
            if not greeted:
                self._wire.disconnect()

    def call(self, packed: bytes) -> Any:
        """The reply to one command on an open link. Raises RedisError; after a ResponseError the link is still open."""
        try:
            return self._exchange(packed)
        except NoScriptError:  # someone flushed the scripts. Nothing ran, so sending it again is no second attempt
            for load in _LOAD_SCRIPTS:
                self._exchange(load)
            return self._exchange(packed)

    def send(self, packed: bytes) -> None:
        """Send one command on an open link; `receive` its reply, or `abandon` the link. Raises RedisError."""
        self._in_doubt = True
        self._wire.send_packed_command((packed,), False)

    def receive(self, within_s: float) -> Any:
        """The reply to `send`. Raises RedisError; after a RedisTimeout the link stands, and still owes it.

        The socket is looked at once more when the time is over: a client that was itself held up must not take a reply
        that is already there for a silent server.
        """
        try:
            return self._read(max(0.0, within_s))
        except RedisTimeout:
            return self._read(0.0)

    def abandon(self, last_words: bytes, *, settles: bool) -> bool:
        """Close the link behind a command that got no reply, sending `last_words` first. True when they went out.

        On one connection the server runs commands in order: whenever it runs the unanswered one, `last_words` follow.
        Where that `settles` the matter, the old session is left to end by itself, for ending it could stop the words
        alone; where it does not, the doubt stays and the next `open` ends that session.
        """
        sent = self._wire.is_connected
        try:
            if sent and last_words:
                self._wire.send_packed_command((last_words,), False)
        except RedisError:
            sent = False
        self._wire.disconnect()
        if sent and settles:
            self._in_doubt = False
        return sent

    def close(self) -> None:
        """Disconnect for good."""
        self._closed = True
        self._wire.disconnect()

    def connect(self) -> None:
        """Open for the first time. Raises ConnectionError, with the address, or EvictingServer."""
        try:
            self.open()
        except RedisError as failure:
            raise ConnectionError(f"redis at {self.address} cannot be reached: {failure}") from failure

    def facts(self) -> ServerFacts:
        """What the server says of itself, on a new connection: an old one may have outlived a restart.

        Durability: appendonly, appendfsync and save, in Redis' own words. Raises ConnectionError.
        """
        self._wire.disconnect()
        self.connect()
        settings: dict[str, str] = {}
        for name in _DURABILITY:
            try:
                reply = self.call(command("CONFIG", "GET", name))
            except ResponseError:  # hosted servers often forbid CONFIG
                reply = []
            except RedisError as failure:
                raise ConnectionError(f"redis at {self.address} broke off: {failure}") from failure
            settings[name] = reply[1].decode() if reply else "not told"
        return ServerFacts(self._version, self._run_id, settings, nodes=1)

    def _exchange(self, packed: bytes) -> Any:
        self.send(packed)
        return self._read(None)

    def _read_until(self, give_up_ns: int) -> Any:
        return self._wire.read_response(timeout=max(0.0, (give_up_ns - self._clock.monotonic_ns()) / 1e9))

    def _read(self, within_s: float | None) -> Any:
        """One reply, in `within_s` or the link's own limit. A timeout leaves the link connected, for `abandon`."""
        connected = False
        try:
            if within_s is None:
                reply = self._wire.read_response(disconnect_on_error=False)
            else:
                reply = self._wire.read_response(timeout=within_s, disconnect_on_error=False)
            connected = True
        except ResponseError:
            connected = True
            self._in_doubt = False
            raise
        except RedisTimeout:
            connected = True
            raise
        finally:
            if not connected:
                self._wire.disconnect()
        self._in_doubt = False
        return reply
