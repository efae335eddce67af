"""Every system of the bench, by name. A newcomer adds one folder and one entry here; see CONTRIBUTING.md.

Classes are named by their path and imported when first used: gRPC, kazoo and boto3 are costly to import, and under
gevent they must be imported after patching.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import cast

from bench.errors import LockbenchError
from bench.servers.spec import ServerSpec
from bench.systems.base import LockClient


class UnknownSystem(LockbenchError):
    """A name that the registry does not have."""


@dataclass(frozen=True, slots=True)
class System:
    """One row of the tables: an adapter, the servers behind it, and the variant of either.

    `default_wait` is how contended clients wait, best first for the system; it is part of a row's name in every table.
    `server_variant` goes to `ServerSpec.configure` before each run, `client_variant` into `ClientOptions.variant`.
    `headline` systems are what `all` means.
    """

    name: str
    title: str
    client_path: str
    servers_path: str | None  # None: needs no server
    default_wait: str
    headline: bool = False
    durable_variant: str | None = None  # the sibling row with durable writes, measured beside this one
    client_variant: Mapping[str, str] = field(default_factory=dict)
    server_variant: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def client_class(self) -> type[LockClient]:
        return cast(type[LockClient], _load(self.client_path))

    @property
    def servers(self) -> ServerSpec | None:
        if self.servers_path is None:
            return None
        return cast(type[ServerSpec], _load(self.servers_path))()

    @property
    def folder(self) -> str:
        return self.client_path.split(".")[2]


def _load(path: str) -> object:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def _system(folder: str, title: str, client: str, servers: str | None, **more: object) -> System:
    """`client` is a class of the folder's lock.py, or `module:class` for one that lies elsewhere in the folder."""
    name = cast(str, more.pop("name", folder))
    module, _, class_name = client.rpartition(":")
    return System(
        name=name,
        title=title,
        client_path=f"bench.systems.{folder}.{module or 'lock'}:{class_name}",
        servers_path=f"bench.systems.{folder}.server:{servers}" if servers else None,
        **more,  # type: ignore[arg-type]
    )


_ENTRIES = (
    _system(
        "redis", "Redis", "RedisLock", "RedisServers",
        default_wait="poll-5ms-j20", headline=True, durable_variant="redis-aof",
    ),
    _system(
        "redis", "Redis, appendfsync always", "RedisLock", "RedisServers", name="redis-aof",
        default_wait="poll-5ms-j20", server_variant={"durability": "always"},
    ),
    _system(
        "redis", "Redis, INCR then SET", "variants:NaiveFenceRedisLock", "RedisServers", name="redis-naive-fence",
        default_wait="poll-5ms-j20", tags=("unsound token",),
    ),
    _system(
        "redis", "Redis, plain DEL", "variants:PlainDeleteRedisLock", "RedisServers", name="redis-plain-delete",
        default_wait="poll-5ms-j20", tags=("unsound release",),
    ),
    _system(
        "redlock", "Redlock", "RedlockLock", "RedlockServers",
        default_wait="poll-5ms-j20", headline=True, durable_variant="redlock-aof",
    ),
    _system(
        "redlock", "Redlock, appendfsync always", "RedlockLock", "RedlockServers", name="redlock-aof",
        default_wait="poll-5ms-j20", server_variant={"durability": "always"},
    ),
    _system("zookeeper", "ZooKeeper", "ZooKeeperLock", "ZooKeeperServers", default_wait="watch", headline=True),
    _system(
        "zookeeper", "ZooKeeper, sequence number as token", "SequenceTokenZooKeeperLock", "ZooKeeperServers",
        name="zookeeper-sequence-token", default_wait="watch", tags=("unsound token",),
    ),
    _system("etcd", "etcd", "EtcdLock", "EtcdServers", default_wait="watch", headline=True),
    _system(
        "postgres_row", "Postgres row", "PostgresRowLock", "PostgresServers",
        name="postgres-row", default_wait="block", headline=True,
    ),
    _system(
        "postgres_row", "Postgres row, sequence without a guard", "variants:UnguardedPostgresRowLock",
        "PostgresServers", name="postgres-row-unguarded", default_wait="block", tags=("unsound token",),
    ),
    _system(
        "postgres_row", "Postgres row, counter in the row", "variants:CounterTokenPostgresRowLock",
        "PostgresServers", name="postgres-row-counter", default_wait="block", tags=("unsound token",),
    ),
    _system(
        "postgres_row", "Postgres row, transaction id as token", "variants:TransactionIdPostgresRowLock",
        "PostgresServers", name="postgres-row-xid", default_wait="block", tags=("unsound token",),
    ),
    _system(
        "postgres_advisory", "Postgres advisory lock", "PostgresAdvisoryLock", "PostgresAdvisoryServers",
        name="postgres-advisory", default_wait="block",
    ),
    _system(
        "dynamodb", "DynamoDB API", "DynamoDBLock", "DynamoDBServers",
        default_wait="poll-20ms-j20", headline=True, tags=("emulator",),
    ),
    _system(
        "dynamodb", "DynamoDB API, client clock", "client_clock:ClientClockDynamoDBLock", "DynamoDBServers",
        name="dynamodb-client-clock", default_wait="poll-20ms-j20", tags=("emulator",),
    ),
    _system("memory", "In-process mutex", "MemoryLock", None, default_wait="block", tags=("baseline",)),
    _system("null", "Null (instrument floor)", "NullLock", None, default_wait="try", tags=("baseline",)),
    _system("faulty", "Faulty (planted faults)", "FaultyLock", None, default_wait="poll-5ms", tags=("planted",)),
)  # fmt: skip

SYSTEMS: Mapping[str, System] = {entry.name: entry for entry in _ENTRIES}
# What `lockbench calibrate` drives beside the systems: one backend's command alone. No locks, and no rows of any table.
PROBES: Mapping[str, System] = {
    entry.name: entry
    for entry in (
        System(
            name="redis-set",
            title="Redis, SET NX PX alone",
            client_path="bench.systems.redis.probe:SetProbe",
            servers_path="bench.systems.redis.server:RedisServers",
            default_wait="try",
            tags=("probe",),
        ),
    )
}
HEADLINE: tuple[str, ...] = tuple(name for name, entry in SYSTEMS.items() if entry.headline)


def system(name: str) -> System:
    """The entry of one system. Raises UnknownSystem with the names that exist."""
    entry = SYSTEMS.get(name) or PROBES.get(name)
    if entry is None:
        raise UnknownSystem(f"no system {name!r}: choose from {', '.join(SYSTEMS)}, or all")
    return entry


def server_sets(systems: tuple[System, ...]) -> tuple[ServerSpec, ...]:
    """The distinct server sets behind some systems, in their order."""
    specs: dict[str, ServerSpec] = {}
    for entry in systems:
        spec = entry.servers
        if spec is not None:
            specs.setdefault(spec.name, spec)
    return tuple(specs.values())
