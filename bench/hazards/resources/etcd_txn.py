"""A key in etcd, replaced by a transaction. Atomic because the transaction holds only for the revision that was read:
the writer judges, and etcd refuses a judgement of anything but the newest state.
"""

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar, Self
from urllib.parse import quote

from bench.hazards.resources.base import (
    ANSWER_WITHIN_S,
    Attempt,
    HostOnServers,
    Judged,
    Place,
    Reading,
    Resource,
    ResourceUnreachable,
)
from bench.hazards.resources.ledger import State, entry_of, verdict_of
from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.stubs import etcdrpc


class EtcdTxn(Resource):
    """One client of the cluster. Each write reads, judges and swaps, anew for as long as another writer was quicker."""

    kind: ClassVar[str] = "etcd-txn"

    def __init__(self, endpoint: Endpoint, space: str) -> None:
        self._space = space
        name = f"resource-{uuid.uuid4().hex}"  # decides which member is asked first
        self._cluster = Cluster(endpoint, ClientOptions(client=name, call_timeout_ms=round(ANSWER_WITHIN_S * 1000)))

    @classmethod
    def open(cls, place: Place) -> Self:
        opened = cls(Endpoint.from_tree(place["endpoint"]), place["space"])
        ready = False
        try:
            opened._cluster.authenticate(ANSWER_WITHIN_S * 1000, patient=True)
            opened.read("")
            ready = True
        except CallFailed as failed:
            raise ResourceUnreachable(str(failed)) from failed
        finally:
            if not ready:
                opened.close()
        return opened

    def read(self, key: str) -> Reading:
        answer = self._call("range", etcdrpc.RangeRequest(key=self._name(key, "state")), _deadline())
        state, _ = _state(answer.kvs)
        return state.reading

    def write(self, attempt: Attempt) -> Judged:
        state_key = self._name(attempt.key, "state")
        attempt_key = self._name(attempt.key, "attempt", attempt.attempt_id)
        look = [_read(state_key), _read(attempt_key)]
        deadline = _deadline()
        answer = self._call("txn", etcdrpc.TxnRequest(success=look), deadline)
        while True:
            state_found, past = (part.response_range.kvs for part in answer.responses)
            if past:
                return verdict_of(json.loads(past[0].value))
            state, revision = _state(state_found)
            after, verdict = state.judge(attempt)
            entry = json.dumps(entry_of(attempt, verdict))
            swap = etcdrpc.TxnRequest(
                compare=[_unchanged(state_key, revision)],
                success=[
                    _put(state_key, json.dumps(after.to_tree())),
                    _put(attempt_key, entry),
                    # Twenty digits: etcd sorts keys as text.
                    _put(self._name(attempt.key, "log", f"{verdict.order:020d}"), entry),
                ],
                failure=look,
            )
            answer = self._call("txn", swap, deadline)
            if answer.succeeded:
                return verdict
            # Another writer was judged in between, and nothing of ours was written. This is no retry of a write: the
            # newest state came with the refusal, and we judge anew on that.

    def judged(self, key: str) -> Sequence[Judged]:
        begin = self._name(key, "log", "")
        request = etcdrpc.RangeRequest(key=begin, range_end=begin[:-1] + bytes([begin[-1] + 1]))
        return [verdict_of(json.loads(found.value)) for found in self._call("range", request, _deadline()).kvs]

    def close(self) -> None:
        self._cluster.close()

    def _name(self, key: str, *parts: str) -> bytes:
        """Beside the locks' queues (`lockbench/`), never among them."""
        words = (self._space, key, *parts)
        return ("lockbench-resource/" + "/".join(quote(word, safe="") for word in words)).encode()

    def _call(self, name: str, request: Any, deadline: float) -> Any:
        """One call. A member that surely refused it is followed by the next one; a call that may have been carried out
        is not sent again. Raises ResourceUnreachable."""
        for left in range(len(self._cluster.addresses), 0, -1):
            timeout_ms = (deadline - time.monotonic()) * 1000
            if timeout_ms <= 0:
                raise ResourceUnreachable(f"etcd: not done within {ANSWER_WITHIN_S:g} s")
            try:
                return self._cluster.call(name, request, timeout_ms)
            except CallFailed as failed:
                if left == 1 or not failed.refused:
                    raise ResourceUnreachable(f"etcd: {failed}") from failed
        raise AssertionError("an endpoint has at least one address")


class EtcdTxnHost(HostOnServers):
    """Has nothing to prepare. Keys stay in the cluster."""

    resource: ClassVar[type[Resource]] = EtcdTxn


def _deadline() -> float:
    return time.monotonic() + ANSWER_WITHIN_S


def _state(found: Any) -> tuple[State, int]:
    """The state and the revision that wrote it: 0 for a key that is not there."""
    return (State.from_tree(json.loads(found[0].value)), found[0].mod_revision) if found else (State(), 0)


def _unchanged(key: bytes, revision: int) -> Any:
    how = etcdrpc.Compare
    return how(result=how.EQUAL, target=how.MOD, key=key, mod_revision=revision)


def _read(key: bytes) -> Any:
    return etcdrpc.RequestOp(request_range=etcdrpc.RangeRequest(key=key))


def _put(key: bytes, text: str) -> Any:
    return etcdrpc.RequestOp(request_put=etcdrpc.PutRequest(key=key, value=text.encode()))
