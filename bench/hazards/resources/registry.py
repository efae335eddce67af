"""Every kind of resource, by name. Classes are imported when first used: an actor needs one library, not five."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from bench.errors import LockbenchError
from bench.hazards.resources.base import HostOnServers, Place, Resource, ResourceHost
from bench.servers.endpoint import Endpoint


class UnknownResource(LockbenchError):
    """A kind that does not exist, or one without the servers that it lives on."""


@dataclass(frozen=True, slots=True)
class _Kind:
    module: str
    resource: str
    servers: str | None  # the server set that it lives on; None: it brings its own, or needs none


_KINDS: Mapping[str, _Kind] = {
    "referee": _Kind("referee", "Referee", None),
    "postgres-row": _Kind("postgres_row", "PostgresRow", "postgres"),
    "postgres-own-transaction": _Kind("postgres_own_transaction", "PostgresOwnTransaction", "postgres"),
    "redis-hash": _Kind("redis_hash", "RedisHash", "redis"),
    "etcd-txn": _Kind("etcd_txn", "EtcdTxn", "etcd"),
    "dynamodb-item": _Kind("dynamodb_item", "DynamoDBItem", "dynamodb"),
    "s3-object": _Kind("s3_object", "S3Object", None),
    "file": _Kind("file", "File", None),
}
# By kind: the `ServerSpec.name` of the servers it lives on. Kinds that need none are left out.
NEEDS: Mapping[str, str] = {name: kind.servers for name, kind in _KINDS.items() if kind.servers is not None}


def kinds() -> tuple[str, ...]:
    """Names of all kinds of resource, in the order of the table."""
    return tuple(_KINDS)


def open_resource(kind: str, place: Place) -> Resource:
    """An actor's connection to a hosted resource. Raises UnknownResource, or ResourceUnreachable."""
    found = _kind(kind)
    return cast(type[Resource], _load(found, found.resource)).open(place)


def host_of(kind: str, endpoints: Mapping[str, Endpoint]) -> ResourceHost:
    """The stage's side of a kind. `endpoints` are those of running server sets, by `ServerSpec.name`.

    Raises UnknownResource, also when the set that the kind needs is not among them.
    """
    found = _kind(kind)
    host = _load(found, f"{found.resource}Host")
    if found.servers is None:
        return cast(type[ResourceHost], host)()
    if found.servers not in endpoints:
        raise UnknownResource(f"the resource {kind} lives on the servers of {found.servers}, which are not up")
    return cast(type[HostOnServers], host)(endpoints[found.servers])


def _kind(name: str) -> _Kind:
    if name not in _KINDS:
        raise UnknownResource(f"no resource {name!r}: choose from {', '.join(_KINDS)}")
    return _KINDS[name]


def _load(kind: _Kind, name: str) -> object:
    return getattr(import_module(f"bench.hazards.resources.{kind.module}"), name)
