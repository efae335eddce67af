"""A client's link to one Redis server: every call bounded, none repeated, and no command of ours left on the way."""

from contextlib import suppress
from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.clock import Clock
from bench.systems.redis import products
from bench.systems.redis.opening import Opening
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import command
from bench.systems.redis.session import LOAD_SCRIPTS, Lost, Session
from bench.systems.redis.wire import Wire

_DURABILITY = ("appendonly", "appendfsync", "save")
LEASE_PARTS = 4  # a connection that is silent for one of them is doubted: there is time left for another
_LOOK_EVERY_S = 0.01


def doubt_after_s(call_timeout_ms: float, ttl_ms: int) -> float:
    """How long a reply may be awaited on a connection before another one is made beside it."""
    return min(call_timeout_ms, ttl_ms) / LEASE_PARTS / 1000.0


class Link:
    """A connection that knows whether a command of its own may still be on the way, and gets itself a new one.

    It is in doubt between the sending of a command and its reply. When a connection is given up in doubt, the command
    may yet arrive, from a slow network or a stopped proxy, long after a new connection looked and found nothing. So the
    new one first has the server end the old (CLIENT KILL by its number): what is on the way then reaches a closed door,
    and what the new connection sees is final.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        node: int,
        call_timeout_ms: float,
        clock: Clock,
        *,
        by_source: bool = False,
        load_scripts: tuple[bytes, ...] = LOAD_SCRIPTS,
    ) -> None:
        host, port = endpoint.addresses[node]
        self.address = f"{host}:{port}"
        self._endpoint, self._node, self._by_source = endpoint, node, by_source
        self._clock, self._load_scripts = clock, load_scripts
        self._timeout_s = call_timeout_ms / 1000.0
        self._session: Session | None = None
        self._in_doubt = False
        self._lost: list[Lost] = []  # given up in doubt, and not ended at the server yet
        self._opening: Opening | None = None  # ends all those, and the session if it is in doubt, when it succeeds
        self._closed = False

    @property
    def info(self) -> dict[str, str]:
        """What the server last said of itself (INFO)."""
        return dict(self._session.info) if self._session is not None else {}

    def is_open(self) -> bool:
        """Connected, nothing outstanding that could be taken for the next command's reply, and not being replaced.

        A reply that came late is taken and dropped. A connection that the server has ended is noticed here, before
        anything is sent over it.
        """
        if self._opening is not None or self._session is None:
            return False
        if self._in_doubt:
            with suppress(RedisError):  # no reply yet, an error as a reply, or a lost connection: sorted out below
                self._read(0.0)
        elif not self._session.wire.stands():
            self.drop()
        return self._session is not None and not self._in_doubt

    def owes(self) -> bool:
        """Connected, and without the reply to the last command."""
        return self._session is not None and self._in_doubt

    def begin_open(self) -> None:
        """Have a new connection made, unless one is under way already. The old one takes nothing new from now on."""
        if self._opening is None and not self._closed:
            lost = list(self._lost)
            if self._session is not None and self._in_doubt:
                lost.append(Lost(self._session.run_id, self._session.number))
            endpoint, node, step_s, by_source = self._endpoint, self._node, self._timeout_s, self._by_source
            self._opening = Opening(lambda: Session.make(endpoint, node, step_s, lost, by_source))

    def await_open(self, within_s: float) -> bool:
        """Whether the new connection is made, and sound, within this time. It is not taken yet."""
        return self._opening is not None and self._opening.wait(within_s) and self._opening.is_sound

    def end_open(self, within_s: float) -> bool:
        """Take the new connection, when it is made within this time. Raises RedisError or UnfitServer if it failed."""
        if self._closed:
            raise RedisConnectionError("this client was closed")
        opening = self._opening
        if opening is None or not opening.wait(within_s):
            return False
        self._opening = None
        session = opening.take()
        if self._session is not None:
            self._session.wire.disconnect()
        self._session, self._in_doubt, self._lost = session, False, []
        return True

    def open(self) -> None:
        """Connect unless open, and end lost connections before using this one. Raises RedisError or UnfitServer."""
        if self.is_open():
            return
        self.begin_open()
        if not self.end_open(self._timeout_s):
            raise RedisTimeout(self.still_opening(self._timeout_s))

    def still_opening(self, within_s: float) -> str:
        """What to say when there is no connection yet."""
        return f"no connection{' by TLS' if self._endpoint.tls else ''} within {within_s:g} s"

    def call(self, packed: bytes, within_s: float | None = None) -> Any:
        """The reply to one command on an open link. Raises RedisError; after an ErrorReply the link is still open.

        A connection that is silent for `within_s` is replaced; the reply counts if it comes before that is done.
        """
        try:
            return self._exchange(packed, within_s)
        except ErrorReply as refusal:
            if refusal.word != "NOSCRIPT":
                raise
        # Someone flushed the scripts, or a client waits so for the first time. Nothing ran: this is no second attempt.
        for load in self._load_scripts:
            self._exchange(load, within_s)
        return self._exchange(packed, within_s)

    def send(self, packed: bytes) -> None:
        """Send one command on an open link; `receive` its reply, or `abandon` the link. Raises RedisError."""
        self._in_doubt = True
        self._wire().send_packed_command((packed,), False)

    def receive(self, within_s: float) -> Any:
        """The reply to `send`. Raises RedisError; after a RedisTimeout the link stands, and still owes it.

        The socket is looked at once more when the time is over: a client that was itself held up must not take a reply
        that is already there for a silent server.
        """
        try:
            return self._read(max(0.0, within_s))
        except RedisTimeout:
            return self._read(0.0)

    def receive_or_replace(self, within_s: float) -> Any:
        """The reply that is owed, while a new connection is being made; RedisTimeout once that is there, or too late.

        Whichever comes first: a slow server's reply is not lost to impatience, and a silent connection is not waited on
        for longer than it takes to have another.
        """
        give_up_ns = self._clock.monotonic_ns() + round(within_s * 1e9)
        self.begin_open()
        while (
            self._opening is not None
            and not self._opening.wait(0.0)
            and (left_ns := give_up_ns - self._clock.monotonic_ns()) > 0
        ):
            with suppress(RedisTimeout):
                return self._read(min(_LOOK_EVERY_S, left_ns / 1e9))
        return self._read(0.0)

    def abandon(self, last_words: bytes, *, settles: bool) -> bool:
        """Close the link behind a command that got no reply, sending `last_words` first. True when they went out.

        On one connection the server runs commands in order: whenever it runs the unanswered one, `last_words` follow.
        Where that `settles` the matter, the old session is left to end by itself, for ending it could stop the words
        alone; where it does not, the doubt stays and the next connection ends that session.
        """
        if self._session is None or self._opening is not None:  # a connection that replaces this one ends it anyhow
            return False
        sent = False
        try:
            with suppress(RedisError):
                self._session.wire.send_packed_command((last_words,), False)
                sent = True
        finally:
            self._in_doubt = self._in_doubt and not (sent and settles)
            self.drop()
        return sent

    def close(self) -> None:
        """Disconnect for good."""
        self._closed = True
        if self._opening is not None:
            self._opening.discard()
            self._opening = None
        self.drop()

    def connect(self) -> None:
        """Open for the first time. Raises ConnectionError, with the address, or UnfitServer."""
        try:
            self.open()
        except RedisError as failure:
            raise ConnectionError(f"redis at {self.address} cannot be used: {failure}") from failure

    def facts(self) -> ServerFacts:
        """What the server says of itself, on a new connection: an old one may have outlived a restart.

        Durability: appendonly, appendfsync and save, in Redis' own words. Raises ConnectionError.
        """
        self.drop()
        self.connect()
        assert self._session is not None
        run_id, version = self._session.run_id, products.version(self._session.info)
        settings: dict[str, str] = {}
        for name in _DURABILITY:
            try:
                reply = self.call(command("CONFIG", "GET", name))
            except ErrorReply:  # hosted servers often forbid CONFIG
                reply = []
            except RedisError as failure:
                raise ConnectionError(f"redis at {self.address} broke off: {failure}") from failure
            settings[name] = reply[1].decode() if reply else products.NOT_REPORTED
        return ServerFacts(version, run_id, settings, nodes=1)

    def _wire(self) -> Wire:
        if self._session is None:
            raise RedisConnectionError("not connected")
        return self._session.wire

    def _exchange(self, packed: bytes, within_s: float | None) -> Any:
        self._wire().be_patient(self._timeout_s if within_s is None else within_s)
        self.send(packed)
        try:
            return self._read(None)
        except RedisTimeout:
            if within_s is None:
                raise
            return self.receive_or_replace(self._timeout_s)

    def _read(self, within_s: float | None) -> Any:
        """One reply, in `within_s` or the connection's own patience. After a timeout it is still owed; after any other
        failure but an ErrorReply there is no connection."""
        standing = False
        try:
            if within_s is None:
                reply = self._wire().read_response(disconnect_on_error=False)
            else:
                reply = self._wire().read_response(timeout=within_s, disconnect_on_error=False)
            standing = True
        except ErrorReply:
            standing = True
            self._in_doubt = False
            raise
        except RedisTimeout:
            standing = True
            raise
        finally:
            if not standing:
                self.drop()
        self._in_doubt = False
        return reply

    def drop(self) -> None:
        """Give the connection up; with a command of ours on it, remember that it has to be ended at the server."""
        if self._session is not None:
            self._session.wire.disconnect()
            if self._in_doubt:
                self._lost.append(Lost(self._session.run_id, self._session.number))
        self._session, self._in_doubt = None, False
