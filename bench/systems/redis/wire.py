"""redis-py's own `Connection`, without its client: ready-packed commands in, replies out, no retry and no pool.

`redis.Redis` puts a pool, retries with pauses and a table of reply converters around each call; on loopback they cost
several times what the command itself does.
"""

from collections.abc import Iterable
from typing import Any, Protocol, cast

from redis.backoff import NoBackoff
from redis.connection import Connection, SSLConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout
from redis.retry import Retry

from bench.servers.endpoint import Endpoint


class _OneSend(Connection):
    """A packed command goes out by one `send`.

    The library's own `sendall` is made for any length: under gevent it asks the kernel for the buffer's size each time
    and goes through three more functions, 8 % of the processor time of a load of SET commands.
    """

    def send_packed_command(self, command: Iterable[bytes], check_health: bool = True) -> None:
        (packed,) = command
        sent = 0
        handed_over = False
        try:
            sent = self._sock.send(packed) if self._sock is not None else 0
            handed_over = True
        except TimeoutError as silent:
            raise RedisTimeout("Timeout writing to socket") from silent
        except OSError as broken:
            raise RedisConnectionError(f"Error while writing to socket: {broken}") from broken
        finally:
            if not handed_over:  # by whatever ended it: part of a command may be on the way, so nothing may follow
                self.disconnect()  # type: ignore[no-untyped-call]
        if sent < len(packed):
            super().send_packed_command((packed[sent:],), check_health)  # type: ignore[no-untyped-call]


class _OneSendTls(_OneSend, SSLConnection):
    """The same over TLS."""


class Wire(Protocol):
    """The part of redis-py's Connection that is used here (it carries few types of its own)."""

    socket_connect_timeout: float | None

    @property
    def is_connected(self) -> bool: ...

    def connect(self) -> None: ...

    def disconnect(self) -> None: ...

    def send_packed_command(self, command: Iterable[bytes], check_health: bool) -> None: ...

    def read_response(self, *, timeout: float | None = ..., disconnect_on_error: bool = ...) -> Any: ...


def parse_info(reply: bytes) -> dict[str, str]:
    """The `name:value` lines of an INFO reply."""
    lines = reply.decode("utf-8", "replace").splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def new_wire(endpoint: Endpoint, host: str, port: int, timeout_s: float) -> Wire:
    secrets = endpoint.secrets
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "db": int(endpoint.options.get("database", "0")),
        "username": secrets.get("user"),
        "password": secrets.get("password"),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # integers and strings look alike in 2 and 3; 2 needs no HELLO
        "driver_info": None,  # no CLIENT SETINFO
    }
    if not endpoint.tls:
        return cast(Wire, _OneSend(**options))  # type: ignore[no-untyped-call]
    return cast(
        Wire,
        _OneSendTls(
            ssl_ca_certs=secrets.get("tls_ca"),
            ssl_certfile=secrets.get("tls_cert"),
            ssl_keyfile=secrets.get("tls_key"),
            **options,
        ),
    )


def ask(host: str, port: int, *packed: bytes, timeout_s: float = 2.0) -> list[Any]:
    """The replies of one server to a few commands, on a connection of their own. Raises RedisError."""
    wire = new_wire(Endpoint(((host, port),)), host, port, timeout_s)
    try:
        wire.connect()
        wire.send_packed_command((b"".join(packed),), False)
        return [wire.read_response() for _ in packed]
    finally:
        wire.disconnect()
