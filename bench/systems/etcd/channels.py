"""One gRPC channel for each member and process, shared by the clients that speak to it.

A session is a lease, not a connection, so clients can share one: that is how gRPC is meant to be used, and under gevent
one thread then waits for all watches instead of one for each client. Never open one before a fork: gRPC's threads do
not survive it. The process id in the key sees to it that a child does not use its parent's.
"""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import grpc

from bench.systems.etcd.grpc_under_gevent import cooperate

_OPTIONS = (
    ("grpc.enable_retries", 0),  # a call is sent once; what it may have done is decided by the adapter
    ("grpc.enable_http_proxy", 0),  # the environment's proxy is for the web, not for a lock server
    ("grpc.use_local_subchannel_pool", 1),  # a channel opened anew is a new connection, without the old one's back-off
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),  # how long one attempt to connect may take
    ("grpc.max_reconnect_backoff_ms", 500),  # a member that returns is used again soon, not after gRPC's two minutes
)


@dataclass(slots=True)
class _Shared:
    channel: grpc.Channel
    users: int = 0


_Key = tuple[int, str, int, tuple[tuple[str, str], ...]]
_shared: dict[_Key, _Shared] = {}
_guard = threading.Lock()


def take(address: tuple[str, int], secrets: Mapping[str, str]) -> grpc.Channel:
    """The channel to one member, opened by its first user. Pair each `take` with one `give_back`."""
    cooperate()
    key = _key(address, secrets)
    with _guard:
        if key not in _shared:
            _shared[key] = _Shared(_open(address, secrets))
        _shared[key].users += 1
        return _shared[key].channel


def give_back(address: tuple[str, int], secrets: Mapping[str, str]) -> None:
    """Close the channel when this was its last user."""
    key = _key(address, secrets)
    with _guard:
        if key not in _shared:
            return  # taken by the parent of this process
        _shared[key].users -= 1
        unused = _shared.pop(key) if _shared[key].users == 0 else None
    if unused is not None:
        unused.channel.close()


def _key(address: tuple[str, int], secrets: Mapping[str, str]) -> _Key:
    return (os.getpid(), *address, tuple(sorted(secrets.items())))


def _open(address: tuple[str, int], secrets: Mapping[str, str]) -> grpc.Channel:
    host, port = address
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if "tls_ca" not in secrets:
        return grpc.insecure_channel(target, options=_OPTIONS)
    pem = {name: Path(path).read_bytes() for name, path in secrets.items() if name.startswith("tls_")}
    credentials = grpc.ssl_channel_credentials(pem["tls_ca"], pem.get("tls_key"), pem.get("tls_cert"))
    return grpc.secure_channel(target, credentials, options=_OPTIONS)
