"""The queue of one key, as etcd messages. Pure: nothing is sent here.

A key's queue is the keys below `lockbench/<key>/`, one for each client that holds or wants the lock, in order of their
create revision. The first holds it.
"""

from dataclasses import dataclass
from typing import Any

from bench.systems.etcd.entry import Entry
from bench.systems.etcd.stubs import etcdrpc


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the queue as of `revision`. `predecessor` is None for the first, which holds the lock."""

    create_revision: int
    predecessor: bytes | None
    revision: int


def join_request(entry: Entry, only_if_free: bool) -> Any:
    """Create our key and read the two newest of the queue: ourselves, and whom we wait for.

    `only_if_free` does so only while the queue is empty, for a client that does not want to wait.
    """
    guards = [_created(entry.void, etcdrpc.Compare.EQUAL, 0)]
    if only_if_free:
        # On a range this holds when it holds for each key of it; no existing key has 0, so: when there is none.
        guards.append(_created(entry.queue, etcdrpc.Compare.EQUAL, 0, range_end=entry.queue_end))
    newest = _queue_range(entry, limit=2)
    return etcdrpc.TxnRequest(compare=guards, success=[_put(entry.key, entry), _read(newest)])


def joined(answer: Any) -> Place | None:
    """Our place, from the answer to `join_request`; None when a guard kept us out."""
    if not answer.succeeded:
        return None
    newest = answer.responses[1].response_range.kvs
    predecessor = newest[1].key if len(newest) > 1 else None
    return Place(answer.header.revision, predecessor, answer.header.revision)


def settle_request(entry: Entry) -> Any:
    """After a join whose reply was lost: find our key, or make sure that it can never appear.

    Reading alone would not do: the join may still be on its way, and be applied after the read. The mark, written by
    the same transaction that finds no key, fails the join's guard. It goes with the lease.
    """
    there = _created(entry.key, etcdrpc.Compare.GREATER, 0)
    return etcdrpc.TxnRequest(compare=[there], success=[_read(own_request(entry))], failure=[_put(entry.void, entry)])


def settled(answer: Any) -> int | None:
    """Our key's create revision, from the answer to `settle_request`; None when it can never appear."""
    return int(answer.responses[0].response_range.kvs[0].create_revision) if answer.succeeded else None


def vanish_request(entry: Entry) -> Any:
    """After a join of which nothing is known: delete our key, or make sure, as above, that it can never appear."""
    there = _created(entry.key, etcdrpc.Compare.GREATER, 0)
    return etcdrpc.TxnRequest(compare=[there], success=[_delete(entry)], failure=[_put(entry.void, entry)])


def look_request(entry: Entry, create_revision: int) -> Any:
    """Is our key still there, and who is before us now? One transaction, so both are of one revision."""
    before = _queue_range(entry, limit=1, max_create_revision=create_revision - 1)
    return etcdrpc.TxnRequest(success=[_read(own_request(entry)), _read(before)])


def looked(answer: Any, create_revision: int) -> Place | None:
    """Our place, from the answer to `look_request`; None when our key is gone."""
    own, before = (part.response_range.kvs for part in answer.responses)
    if not own or own[0].create_revision != create_revision:
        return None
    return Place(create_revision, before[0].key if before else None, answer.header.revision)


def own_request(entry: Entry) -> Any:
    """Read our own key: is it still there?"""
    return etcdrpc.RangeRequest(key=entry.key, keys_only=True)


def watch_requests(entry: Entry, place: Place) -> tuple[Any, Any]:
    """Tell when the predecessor's key or our own is deleted, from the revision after our look on: no delete falls in
    between. Our own may be deleted by another hand, and then nobody would wake us."""
    return _deleted(place.predecessor, place.revision + 1), _deleted(entry.key, place.revision + 1)


def herd_requests(entry: Entry, place: Place) -> tuple[Any]:
    """Tell when any key of the queue is deleted, from the same revision on. Our own is one of them."""
    return (_deleted(entry.queue, place.revision + 1, entry.queue_end),)


def delete_request(entry: Entry, create_revision: int) -> Any:
    """Delete our key if it is the one of this create revision."""
    ours = _created(entry.key, etcdrpc.Compare.EQUAL, create_revision)
    return etcdrpc.TxnRequest(compare=[ours], success=[_delete(entry)])


def _deleted(key: bytes | None, since: int, range_end: bytes = b"") -> Any:
    return etcdrpc.WatchRequest(
        create_request=etcdrpc.WatchCreateRequest(
            key=key, range_end=range_end, start_revision=since, filters=[etcdrpc.WatchCreateRequest.NOPUT]
        )
    )


def _created(key: bytes, how: int, revision: int, range_end: bytes = b"") -> Any:
    return etcdrpc.Compare(
        result=how, target=etcdrpc.Compare.CREATE, key=key, create_revision=revision, range_end=range_end
    )


def _put(key: bytes, entry: Entry) -> Any:
    return etcdrpc.RequestOp(request_put=etcdrpc.PutRequest(key=key, value=entry.owner.encode(), lease=entry.lease_id))


def _delete(entry: Entry) -> Any:
    return etcdrpc.RequestOp(request_delete_range=etcdrpc.DeleteRangeRequest(key=entry.key))


def _read(request: Any) -> Any:
    return etcdrpc.RequestOp(request_range=request)


def _queue_range(entry: Entry, limit: int, max_create_revision: int = 0) -> Any:
    return etcdrpc.RangeRequest(
        key=entry.queue,
        range_end=entry.queue_end,
        sort_target=etcdrpc.RangeRequest.CREATE,
        sort_order=etcdrpc.RangeRequest.DESCEND,
        limit=limit,
        max_create_revision=max_create_revision,
        keys_only=True,
    )
