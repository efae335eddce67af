"""What an operator can do to one lock's keys, past the adapter."""

from collections.abc import Mapping
from typing import Any

from bench.servers.endpoint import Endpoint
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.gateway import Gateway, NoAnswer

_WITHIN_S = 5.0


def erase(endpoint: Endpoint, key: str) -> str:
    """Delete the whole queue, which is empty while nobody holds the lock or waits. Revisions are the cluster's own.

    Raises ConnectionError.
    """
    everything = _queue_of(key)
    try:
        deleted = _gateway(endpoint).delete(everything.queue, everything.queue_end)
    except NoAnswer as failed:
        raise ConnectionError(f"etcd did not delete the queue of {key!r}: {failed}") from failed
    return f"deleted {deleted} keys below {everything.queue.decode()}"


def touch(endpoint: Endpoint, key: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Write the holder's key anew, under its lease; the revisions of the key before and after.

    Raises ConnectionError, and LookupError where nobody holds the lock.
    """
    gateway = _gateway(endpoint)
    try:
        before = _held(gateway, key)
        gateway.write_over(before["key"], b"touched")
        after = _held(gateway, key)
    except NoAnswer as failed:
        raise ConnectionError(f"etcd did not write over the key of the holder of {key!r}: {failed}") from failed
    return _revisions(before), _revisions(after)


def _held(gateway: Gateway, key: str) -> Mapping[str, Any]:
    found = gateway.first_created(_queue_of(key).queue, _queue_of(key).queue_end)
    if found is None:
        raise LookupError(f"nobody holds {key!r}: its queue is empty")
    return found


def _revisions(held: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: int(held[name]) for name in ("create_revision", "mod_revision")}


def _queue_of(key: str) -> Entry:
    return Entry(key, lease_id=0, owner="")


def _gateway(endpoint: Endpoint) -> Gateway:
    return Gateway(endpoint, _WITHIN_S)
