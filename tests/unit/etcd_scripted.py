"""A cluster that answers from a script and a clock that stands still: the etcd adapter's decisions without etcd."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from bench.systems.base import ClientOptions
from bench.systems.etcd.cluster import CallFailed
from bench.systems.etcd.session import NS_PER_MS, Session
from bench.systems.etcd.stubs import etcdrpc

ADDRESS = ("etcd.invalid", 2379)


class StandingClock:
    """Moves only when told."""

    def __init__(self) -> None:
        self.now_ms = 1_000.0

    def monotonic_ns(self) -> int:
        return int(self.now_ms * NS_PER_MS)

    def wall_ns(self) -> int:
        raise AssertionError("the etcd adapter has no business with wall time")

    def sleep(self, seconds: float) -> None:
        raise AssertionError("the etcd adapter does not sleep")


class SilentWatch:
    """In a script: a watch that ends by its own time, having said nothing."""


class ScriptedCluster:
    """Gives its answers in order; an exception among them is raised. `asked` holds each call's name and request."""

    addresses = (ADDRESS,)

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, Any]] = []
        self.watched_ms: list[float] = []

    def call(self, name: str, request: Any, timeout_ms: float | None = None, patient: bool = False) -> Any:
        self.asked.append((name, request))
        answer = self._answers.pop(0)
        if callable(answer):
            answer = answer()
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    @contextmanager
    def stream(self, name: str, requests: Any, timeout_ms: float) -> Iterator[Any]:
        self.watched_ms.append(timeout_ms)
        answer = self.call(name, requests)
        yield iter([] if isinstance(answer, SilentWatch) else [answer])

    @property
    def address(self) -> tuple[str, int]:
        return ADDRESS

    @property
    def exhausted(self) -> bool:
        return not self._answers


def failure(code: grpc.StatusCode, details: str = "") -> CallFailed:
    """A call that ended with this status."""
    return CallFailed(ADDRESS, code, details)


LOST_REPLY = failure(grpc.StatusCode.DEADLINE_EXCEEDED)


def session_on(cluster: Any, clock: StandingClock, ttl_ms: int = 3_000, granted_s: int = 3) -> Session:
    """A session as granted now, without a keepalive thread."""
    options = ClientOptions(clock=clock, ttl_ms=ttl_ms, variant={"keepalive": "no"})
    return Session(cluster, options, etcdrpc.LeaseGrantResponse(ID=31, TTL=granted_s), clock.monotonic_ns())


def range_answer(*keys: tuple[bytes, int]) -> Any:
    """The answer to a range within a transaction: each key with its create revision."""
    found = etcdrpc.RangeResponse()
    for key, create_revision in keys:
        found.kvs.add(key=key, create_revision=create_revision)
    return etcdrpc.ResponseOp(response_range=found)


def txn_answer(revision: int, *responses: Any, succeeded: bool = True) -> Any:
    """The answer to a transaction."""
    header = etcdrpc.ResponseHeader(revision=revision)
    return etcdrpc.TxnResponse(header=header, succeeded=succeeded, responses=responses)
