"""What an etcd cluster keeps for a key, asked past the adapter."""

import base64
import json
from http.client import HTTPConnection

from bench.servers.endpoint import Endpoint

_WITHIN_S = 5.0


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


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
