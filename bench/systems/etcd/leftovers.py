"""What an etcd cluster keeps for a key, asked past the adapter."""

import base64
import json
from collections import Counter
from collections.abc import Mapping
from http.client import HTTPConnection

from bench.servers.endpoint import Endpoint
from bench.systems.etcd.gateway import Gateway

_WITHIN_S = 5.0
_COUNTED = {"watchers": "etcd_debugging_mvcc_watcher_total", "watch streams": "etcd_debugging_mvcc_watch_stream_total"}


def leftovers(endpoint: Endpoint, key: str) -> list[str]:
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


def presence(endpoint: Endpoint) -> Mapping[str, int]:
    """Of all members: leases, which each of them knows, and watches. Connections they do not count."""
    found: Counter[str] = Counter()
    for address in endpoint.addresses:
        member = Gateway(endpoint.at((address,)), _WITHIN_S)
        found["leases"] += len(member.leases())
        samples = member.samples()
        for name, series in _COUNTED.items():
            found[name] += int(samples[series])
    return found


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
