"""One client's way to the members of an etcd cluster: which of them it asks, and what a failed call means."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.etcd import channels
from bench.systems.etcd.member import Member
from bench.systems.etcd.stubs import etcdrpc

# With these etcd (or gRPC, before sending) refused the call as a whole. Any other failure may have left it on its way:
# proposed to the cluster, and to be applied at a time that nobody can bound.
_REFUSED = (
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.OUT_OF_RANGE,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.UNIMPLEMENTED,
)
# gRPC's words for "no connection, nothing sent". Were they to change, the outcome would be `unknown`: the safe side.
_NEVER_SENT = "failed to connect to all addresses"


class CallFailed(Exception):
    """A call did not return. `refused`: it surely had and will have no effect. `lease_gone`: since its lease is not."""

    def __init__(self, address: tuple[str, int], code: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{address[0]}:{address[1]}: {code.name}: {details}")
        self.code = code
        self.refused = code in _REFUSED or details.startswith(_NEVER_SENT)
        self.lease_gone = code is grpc.StatusCode.NOT_FOUND


class Cluster:
    """A client asks one member, chosen by its name, so that clients spread evenly. After a failure its *next* call
    goes to the next member; no call is sent twice.
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self._endpoint = endpoint
        self._call_timeout_ms = options.call_timeout_ms
        self._at = zlib.crc32(options.client.encode()) % len(endpoint.addresses)
        self._members: dict[int, Member] = {}
        self._metadata: tuple[tuple[str, str], ...] = ()
        self._closed = False

    @property
    def addresses(self) -> tuple[tuple[str, int], ...]:
        """All members, in node order."""
        return self._endpoint.addresses

    @property
    def address(self) -> tuple[str, int]:
        """The member that the next call goes to."""
        return self._endpoint.addresses[self._at]

    def call(self, name: str, request: Any, timeout_ms: float | None = None, patient: bool = False) -> Any:
        """One unary call by its name in `Member`. Raises CallFailed.

        Without a connection it fails at once; if `patient`, only when none comes up in time. It is sent once.
        """
        at = self._at
        timeout_s = (self._call_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        try:
            return getattr(self._member(at), name)(
                request, timeout=timeout_s, metadata=self._metadata, wait_for_ready=patient
            )
        except grpc.RpcError as failed:
            raise self._failure(at, failed) from failed

    @contextmanager
    def stream(self, name: str, request: Any, timeout_ms: float) -> Iterator[Any]:
        """The answers to one request, cancelled at the block's end. Leaves the block early, without an exception, after
        `timeout_ms`. Raises CallFailed when the stream breaks.
        """
        at = self._at
        # A member cut off from the leader would keep silent; asked this way, it ends the stream instead.
        metadata = (*self._metadata, ("hasleader", "true"))
        answers = getattr(self._member(at), name)(request, timeout=timeout_ms / 1000, metadata=metadata)
        try:
            yield answers
        except grpc.RpcError as failed:
            if not _time_is_up(failed):
                raise self._failure(at, failed) from failed
        finally:
            answers.cancel()

    def authenticate(self, timeout_ms: float, patient: bool) -> None:
        """Fetch a token where the endpoint has a user; every later call carries it."""
        secrets = self._endpoint.secrets
        if "user" in secrets:
            question = etcdrpc.AuthenticateRequest(name=secrets["user"], password=secrets.get("password", ""))
            self._metadata = ()
            self._metadata = (("token", self.call("authenticate", question, timeout_ms, patient).token),)

    def close(self) -> None:
        """Give the channels back; whoever still calls gets CallFailed. Idempotent."""
        self._closed = True
        while self._members:
            at, _ = self._members.popitem()
            channels.give_back(self._endpoint.addresses[at], self._endpoint.secrets)

    def _member(self, at: int) -> Member:
        if self._closed:
            raise CallFailed(self.addresses[at], grpc.StatusCode.CANCELLED, "this client is closed")
        if at not in self._members:
            self._members[at] = Member(channels.take(self._endpoint.addresses[at], self._endpoint.secrets))
        return self._members[at]

    def _failure(self, at: int, failed: Any) -> CallFailed:
        code = failed.code()
        if code not in _REFUSED and code is not grpc.StatusCode.CANCELLED and self._at == at:
            self._at = (at + 1) % len(self._endpoint.addresses)
        return CallFailed(self._endpoint.addresses[at], code, failed.details() or "")


def _time_is_up(failed: Any) -> bool:
    """Did the stream end at our own deadline? It travels with the request, so the member may be the first to act on it,
    and etcd 3.4 tells it in these words under a code of its own."""
    code = failed.code()
    told = code is grpc.StatusCode.UNKNOWN and failed.details() == "context deadline exceeded"
    return told or code is grpc.StatusCode.DEADLINE_EXCEEDED
