"""The connection on which a waiting client is woken: one beside its link, made when it first waits, and kept."""

from collections.abc import Callable
from typing import Any

from redis.exceptions import TimeoutError as RedisTimeout

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.redis.wire import Wire, new_wire

NOTHING = object()  # in place of a reply that did not come


class Ear:
    """Nothing of a lock depends on it: whatever is wrong with it, it is dropped, and the waiter looks by itself.

    To drop it ends all that the client asked for on it, a subscription or a blocking command, so it is also how an
    acquire that was interrupted leaves nothing here.
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions, load_scripts: tuple[bytes, ...]) -> None:
        self._endpoint = endpoint
        self._clock, self._call_timeout_s = options.clock, options.call_timeout_ms / 1000.0
        self._load_scripts = load_scripts
        self._wire: Wire | None = None

    def now_ns(self) -> int:
        """Of the client's monotonic clock."""
        return self._clock.monotonic_ns()

    def is_open(self) -> bool:
        """Whether what was asked for may be in force still: on a connection that ended, nothing is."""
        return self._wire is not None and self._wire.stands()

    def send(self, packed: bytes) -> None:
        """Send one command, over a new connection where there is none. Raises RedisError."""
        if not self.is_open():
            self.drop()
            host, port = self._endpoint.addresses[0]
            self._wire = new_wire(self._endpoint, host, port, self._call_timeout_s)
            self._wire.greet(*self._load_scripts)  # so that whoever waits, and those it waits for, find them there
        assert self._wire is not None
        self._wire.send_packed_command((packed,), False)

    def hear(self, is_meant: Callable[[Any], bool], within_s: float) -> Any:
        """The first reply or message that is meant; others, of what was asked for before, are passed over.

        NOTHING when none comes in time. Raises RedisError: ErrorReply, or what ended the connection.
        """
        until_ns = self.now_ns() + round(within_s * 1e9)
        while self._wire is not None:
            left_s = max(0.0, (until_ns - self.now_ns()) / 1e9)
            try:
                reply = self._wire.read_response(timeout=left_s, disconnect_on_error=False)
            except RedisTimeout:
                break
            if is_meant(reply):
                return reply
        return NOTHING

    def drop(self) -> None:
        """Disconnect. May be called again, also after it was interrupted."""
        if self._wire is not None:
            self._wire.disconnect()
            self._wire = None
