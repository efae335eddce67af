"""One gRPC channel for each member and process, shared by the clients that speak to it.

A session is a lease, not a connection, so clients can share one: that is how gRPC is meant to be used, and under gevent
one thread then waits for all watches instead of one for each client. Never open one before a fork: gRPC's threads do
not survive it. The process id in the key sees to it that a child does not use its parent's.

A connection can fall silent: nothing arrives any more, and nobody says so. gRPC would go on using it for minutes, and
etcd forbids pings that are frequent enough for a lease. So what finds out is our own calls, keepalives above all: see
`Line`.
"""

import os
import threading
from pathlib import Path

from bench.servers.endpoint import Endpoint
from bench.servers.tls import trust_store, with_files
from bench.systems.etcd.grpc_alone import alone, grpc
from bench.systems.etcd.grpc_under_gevent import cooperate
from bench.systems.etcd.member import Member

_OPTIONS = (
    ("grpc.enable_retries", 0),  # a call is sent once; what it may have done is decided by the adapter
    ("grpc.enable_http_proxy", 0),  # the environment's proxy is for the web, not for a lock server
    ("grpc.address_http_proxy_enabled_addresses", ""),  # and neither is GRPC_ADDRESS_HTTP_PROXY's, which is another
    ("grpc.use_local_subchannel_pool", 1),  # a channel opened anew is a new connection, without the old one's back-off
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),  # how long one attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 500),  # a member that returns is used again soon, not after gRPC's two minutes
)


class Line:
    """A shared channel, and whether anything still comes over it.

    `heard` rises with every answer. A call that ran out of time while nothing at all was heard makes the line `silent`:
    nobody uses it again. Since a silence seldom strikes one connection alone, the other lines are then in `doubt`
    until something is heard over them: whoever needs one that was not heard since takes a new one.
    """

    __slots__ = ("channel", "doubted", "heard", "key", "member", "silent", "users")

    def __init__(self, key: "_Key", channel: grpc.Channel) -> None:
        self.key = key
        self.channel = channel
        self.member = Member(channel)
        self.heard = 0
        self.doubted = -1  # how much had been heard when doubt arose
        self.silent = False
        self.users = 0

    @property
    def trusted(self) -> bool:
        """Whether the next call may go over it."""
        return not self.silent and self.heard != self.doubted


_Key = tuple[int, str, int, bool, tuple[tuple[str, str], ...]]
_shared: dict[_Key, Line] = {}
_guard = threading.Lock()


def take(address: tuple[str, int], endpoint: Endpoint) -> Line:
    """The line to one member, opened by its first user. Pair each `take` with one `give_back`.

    Raises ConnectionError where the files that TLS needs cannot be read.
    """
    cooperate()
    key = (os.getpid(), *address, endpoint.tls, tuple(sorted(endpoint.secrets.items())))
    with _guard:
        if key not in _shared or not _shared[key].trusted:
            _shared[key] = Line(key, _open(address, endpoint))
        _shared[key].users += 1
        return _shared[key]


def give_back(line: Line) -> None:
    """Close the channel when this was its last user. One that was replaced ends with the last call that is on it."""
    with _guard:
        line.users -= 1
        unused = line.users == 0 and _shared.get(line.key) is line and line.key[0] == os.getpid()
        if unused:
            del _shared[line.key]
    if unused:
        line.channel.close()


def found_silent(line: Line) -> None:
    """A call over it ran out of time, and nothing else was heard meanwhile."""
    with _guard:
        if line.silent:
            return
        line.silent = True
        for other in _shared.values():
            other.doubted = other.heard


def _open(address: tuple[str, int], endpoint: Endpoint) -> grpc.Channel:
    host, port = address
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not endpoint.tls:
        with alone():
            return grpc.insecure_channel(target, options=_OPTIONS)
    with_files(endpoint)  # gRPC takes an empty file for none, and says nothing of one that is no certificate
    try:
        pem = {name: Path(path).read_bytes() for name, path in endpoint.secrets.items() if name.startswith("tls_")}
        roots = pem["tls_ca"] if "tls_ca" in pem else _roots_of_the_system()
    except OSError as unreadable:
        raise ConnectionError(f"etcd at {target} is to be reached by TLS: {unreadable}") from unreadable
    with alone():
        credentials = grpc.ssl_channel_credentials(roots, pem.get("tls_key"), pem.get("tls_cert"))
        return grpc.secure_channel(target, credentials, options=_OPTIONS)


def _roots_of_the_system() -> bytes:
    """The trust store that OpenSSL uses here. gRPC would take a list of its own, which knows no CA of this machine's.

    Raises FileNotFoundError where there is none.
    """
    file, folder = trust_store()
    files = [file] if file.is_file() else sorted(folder.glob("*.[0-9]"))
    roots = b"\n".join(file.read_bytes() for file in files)
    if not roots:
        raise FileNotFoundError("this system has no trust store: name the CA's file in LOCKBENCH_ETCD_TLS_CA")
    return roots
