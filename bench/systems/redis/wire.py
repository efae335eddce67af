"""redis-py's own `Connection`, without its client: ready-packed commands in, replies out, no retry and no pool.

`redis.Redis` puts a pool, retries with pauses and a table of reply converters around each call; on loopback they cost
several times what the command itself does.
"""

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, cast

from redis.backoff import NoBackoff
from redis.connection import Connection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeout
from redis.retry import Retry

from bench.servers.endpoint import Endpoint
from bench.servers.tls import client_context
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.scripts import command

_ESTABLISHED = 1  # of the kernel's TCP states (include/net/tcp_states.h), the first byte of TCP_INFO


class _OneSend(Connection):
    """A packed command goes out by one `send`; an error reply is an ErrorReply; a login is one round trip; and whatever
    ends the connecting leaves no connection.

    The library's own `sendall` is made for any length: under gevent it asks the kernel for the buffer's size each time
    and goes through three more functions, 8 % of the processor time of a load of SET commands.
    """

    def __init__(self, login: tuple[bytes, ...], **options: Any) -> None:
        super().__init__(**options)  # type: ignore[no-untyped-call]
        self._login = login
        self._parser.parse_error = ErrorReply
        self._patience_s = 0.0  # as last set on the socket

    def greet(self, *packed: bytes) -> list[Any]:
        super().connect()  # type: ignore[no-untyped-call]
        self._patience_s = 0.0
        replies = self.together(*self._login, *packed)
        for reply in replies[: len(self._login)]:
            if isinstance(reply, ErrorReply):
                self.disconnect()  # type: ignore[no-untyped-call]
                raise reply
        return replies[len(self._login) :]

    def _connect(self) -> socket.socket:
        """The library's own closes what it began where connecting fails, and not where a greenlet is killed in there or
        Ctrl-C arrives: such a connection stands for as long as somebody keeps the traceback, as gevent does.
        """
        failure: OSError | None = None
        for family, kind, protocol, _, address in socket.getaddrinfo(self.host, self.port, 0, socket.SOCK_STREAM):
            sock = self._secured(socket.socket(family, kind, protocol))
            connected = False
            try:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                for option, value in self.socket_keepalive_options.items():
                    sock.setsockopt(socket.IPPROTO_TCP, option, value)
                sock.settimeout(self.socket_connect_timeout)
                sock.connect(address)
                sock.settimeout(self.socket_timeout)
                connected = True
                return sock
            except OSError as failed:
                failure = failed
            finally:
                if not connected:
                    sock.close()
        raise failure or OSError(f"{self.host} has no address")

    def _secured(self, sock: socket.socket) -> socket.socket:
        return sock

    def together(self, *packed: bytes) -> list[Any]:
        replies: list[Any] = []
        if packed:
            self.send_packed_command((b"".join(packed),), False)
        for _ in packed:
            try:
                replies.append(self.read_response())
            except ErrorReply as refusal:
                replies.append(refusal)
        return replies

    def be_patient(self, within_s: float) -> None:
        if within_s != self._patience_s:  # two system calls, for what is the same from one call to the next
            self.update_current_socket_timeout(within_s)
            self._patience_s = within_s

    def stands(self) -> bool:
        """A look at the kernel's own state: 0.6 µs, no byte read, also under gevent and TLS."""
        try:
            state = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) if self._sock is not None else b"\0"
        except OSError:
            return False
        return bool(state[0] == _ESTABLISHED)

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


class _OneSendTls(_OneSend):
    """The same over TLS, as the endpoint asks for it: redis-py would also believe what SSL_CERT_FILE names."""

    def __init__(self, *, context: ssl.SSLContext, **options: Any) -> None:
        super().__init__(**options)
        self._context = context

    def _secured(self, sock: socket.socket) -> socket.socket:
        return self._context.wrap_socket(sock, server_hostname=self.host)  # `connect` shakes hands


class Wire(Protocol):
    """What is used here of a connection, most of it redis-py's own, which carries few types."""

    @property
    def is_connected(self) -> bool: ...

    def greet(self, *packed: bytes) -> list[Any]:
        """Connect, log in and say this, in one round trip after the connecting; the replies, errors among them."""

    def together(self, *packed: bytes) -> list[Any]:
        """The replies to several commands, errors among them. Raises RedisError when the connection fails."""

    def be_patient(self, within_s: float) -> None:
        """Wait this long for replies, unless a read says otherwise."""

    def stands(self) -> bool:
        """Has neither side ended the connection, as far as this machine knows?"""

    def disconnect(self) -> None: ...

    def send_packed_command(self, command: Iterable[bytes], check_health: bool) -> None: ...

    def read_response(self, *, timeout: float | None = ..., disconnect_on_error: bool = ...) -> Any: ...


def parse_info(reply: bytes) -> dict[str, str]:
    """The `name:value` lines of an INFO reply."""
    lines = reply.decode("utf-8", "replace").splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def new_wire(endpoint: Endpoint, host: str, port: int, timeout_s: float) -> Wire:
    options: dict[str, Any] = {
        "host": host,
        "port": port,
        "login": _login(endpoint),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # integers and strings look alike in 2 and 3; 2 needs no HELLO
        "driver_info": None,  # no CLIENT SETINFO
    }
    context = client_context(endpoint)
    return cast(Wire, _OneSend(**options) if context is None else _OneSendTls(context=context, **options))


def _login(endpoint: Endpoint) -> tuple[bytes, ...]:
    """What stands first on a connection, as the URL and the environment have it: user, name, database."""
    user, password = endpoint.secrets.get("user"), endpoint.secrets.get("password")
    name, database = endpoint.options.get("client_name"), int(endpoint.options.get("db", "0"))
    login = []
    if user is not None:  # without a password too: there are users who need none
        login.append(command("AUTH", user, password or ""))
    elif password is not None:
        login.append(command("AUTH", password))
    if name is not None:
        login.append(command("CLIENT", "SETNAME", name))
    if database:
        login.append(command("SELECT", str(database)))
    return tuple(login)


@contextmanager
def connected(endpoint: Endpoint, host: str, port: int, timeout_s: float) -> Iterator[Wire]:
    """A connection of its own, logged in, for as long as the block lasts. Raises RedisError."""
    wire = new_wire(endpoint, host, port, timeout_s)
    try:
        wire.greet()
        yield wire
    finally:
        wire.disconnect()


def ask(host: str, port: int, *packed: bytes, timeout_s: float = 2.0) -> list[Any]:
    """The replies of one server to a few commands, on a connection of their own. Raises RedisError."""
    with connected(Endpoint(((host, port),)), host, port, timeout_s) as wire:
        replies = wire.together(*packed)
    for reply in replies:
        if isinstance(reply, ErrorReply):
            raise reply
    return replies
