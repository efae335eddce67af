"""Looks into each system's own store, past the adapter: what is kept for one key, by its holder and by its waiters.

The keys looked for are those of `Harness.new_key`: plain ASCII that every adapter's encoding leaves as it is.
"""

import base64
import json
from http.client import HTTPConnection

from bench.servers.endpoint import Endpoint
from bench.systems.clock import SYSTEM_CLOCK
from bench.systems.memory.store import store_at
from bench.systems.registry import System

_WITHIN_S = 5.0


def entries(system: System, endpoint: Endpoint, key: str) -> list[str]:
    """Holder and queue of a key as the servers store them."""
    match (system.servers_path or system.client_path).split(".")[2]:
        case "memory" | "faulty":
            return store_at(endpoint).entries(key, SYSTEM_CLOCK.monotonic_ns())
        case "redis" | "redlock":
            return _redis(endpoint, key)
        case "zookeeper":
            return _zookeeper(endpoint, key)
        case "etcd":
            return _etcd(endpoint, key)
        case "postgres_row":
            return _postgres(endpoint)
        case "postgres_advisory":
            return _postgres_advisory(endpoint, key)
        case "dynamodb":
            return _dynamodb(endpoint, key)
    raise NotImplementedError(f"no look into the store of {system.name}: add one here")


def _redis(endpoint: Endpoint, key: str) -> list[str]:
    """Lock keys on every node. The fence counter stays by design, and is no entry."""
    import redis

    found = []
    for host, port in endpoint.addresses:
        with redis.Redis(host, port, decode_responses=True, socket_timeout=_WITHIN_S) as client:
            found += [f"{port} {name}" for name in client.scan_iter(f"*{key}*", 1000) if not name.endswith(":fence")]
    return sorted(found)


def _zookeeper(endpoint: Endpoint, key: str) -> list[str]:
    """The children of the key's node, after a sync, so that no follower answers from the past."""
    from kazoo.client import KazooClient
    from kazoo.exceptions import NoNodeError

    client = KazooClient(",".join(f"{host}:{port}" for host, port in endpoint.addresses), timeout=_WITHIN_S)
    client.start(_WITHIN_S)
    try:
        client.sync("/")
        return sorted(client.get_children(f"/lockbench/{key}"))
    except NoNodeError:
        return []
    finally:
        client.stop()
        client.close()


def _etcd(endpoint: Endpoint, key: str) -> list[str]:
    """Keys under the lock's prefix, by a linearizable range over etcd's JSON gateway."""
    prefix = f"lockbench/{key}/"
    host, port = endpoint.addresses[0]
    connection = HTTPConnection(host, port, timeout=_WITHIN_S)
    try:
        body = {"key": _base64(prefix), "range_end": _base64(prefix[:-1] + "0"), "keys_only": True}
        connection.request("POST", "/v3/kv/range", json.dumps(body))
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    return sorted(base64.b64decode(entry["key"]).decode() for entry in answer.get("kvs", []))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _postgres(endpoint: Endpoint) -> list[str]:
    """Sessions that hold or wait for some row of the lock table: PostgreSQL keeps row locks in the rows, not by key."""
    query = """
        SELECT DISTINCT pid FROM pg_locks JOIN pg_class ON pg_class.oid = relation
        WHERE relname = 'locks' AND relkind = 'r' ORDER BY pid"""
    return _sessions(endpoint, query)


def _postgres_advisory(endpoint: Endpoint, key: str) -> list[str]:
    """Sessions that hold or wait for the key's number, which pg_locks shows in two halves."""
    from bench.systems.postgres_advisory.numbers import number_of

    high, low = divmod(number_of(key) % 2**64, 2**32)
    query = f"""
        SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
        AND classid = {high}::oid AND objid = {low}::oid ORDER BY pid"""
    return _sessions(endpoint, query)


def _sessions(endpoint: Endpoint, query: str) -> list[str]:
    import psycopg

    host, port = endpoint.addresses[0]
    with psycopg.connect(
        host=host,
        port=port,
        dbname=endpoint.options["database"],
        user=endpoint.options["user"],
        password=endpoint.secrets.get("password"),
        connect_timeout=int(_WITHIN_S),
    ) as connection:
        return [f"session {pid}" for (pid,) in connection.execute(query)]


def _dynamodb(endpoint: Endpoint, key: str) -> list[str]:
    """The holder in the key's item. The item itself stays by design, with the count of grants in it."""
    from bench.systems.dynamodb.calls import shared_client
    from bench.systems.dynamodb.tables import LOCKS

    client = shared_client(endpoint, int(_WITHIN_S * 1000))
    item = client.get_item(TableName=LOCKS, Key={"k": {"S": key}}, ConsistentRead=True).get("Item", {})
    return [f"holder {item['holder']['S']}"] if "holder" in item else []
