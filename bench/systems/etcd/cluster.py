"""One client's way to the members of an etcd cluster: which of them it asks, and what a failed call means."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.etcd import channels
from bench.systems.etcd.channels import Line
from bench.systems.etcd.grpc_alone import grpc
from bench.systems.etcd.grpc_under_gevent import opened
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
# etcd's words for a token that was good and is not any more: its time is over (simple tokens and JWT alike), or users
# or roles have changed since it was given (server/auth/store.go and api/v3rpc/rpctypes/error.go; the last one in older
# releases). The call as a whole was refused, so it may be sent again with a new token.
_TOKEN_IS_OLD = (
    "etcdserver: invalid auth token",
    "etcdserver: revision of auth store is old",
    "auth: revision in header is old",
)
# gRPC's words for "no connection, nothing sent". Were they to change, the outcome would be `unknown`: the safe side.
_NEVER_SENT = "failed to connect to all addresses"


class CallFailed(Exception):
    """A call did not return. `refused`: it surely had and will have no effect. `lease_gone`: since its lease is not."""

    def __init__(self, address: tuple[str, int], code: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{address[0]}:{address[1]}: {code.name}: {details}")
        self.code = code
        self.token_is_old = details in _TOKEN_IS_OLD
        self.refused = code in _REFUSED or details.startswith(_NEVER_SENT) or self.token_is_old
        self.lease_gone = code is grpc.StatusCode.NOT_FOUND


class Cluster:
    """A client asks one member, chosen by its name, so that clients spread evenly. After a failure its *next* call
    goes to the next member; no call is sent twice, unless etcd refused it for the age of its token.
    """

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self._endpoint = endpoint
        self._call_timeout_ms = options.call_timeout_ms
        self._at = zlib.crc32(options.client.encode()) % len(endpoint.addresses)
        self._lines: dict[int, Line] = {}
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

        Without a connection it fails at once; if `patient`, only when none comes up in time. It is sent once, and once
        more with a new token where that was why etcd refused it.
        """
        timeout_ms = self._call_timeout_ms if timeout_ms is None else timeout_ms
        sent_with = self._metadata
        try:
            return self._send(name, request, timeout_ms, patient, sent_with)
        except CallFailed as refused:
            if not refused.token_is_old or not sent_with:
                raise
            if self._metadata is sent_with:  # else the keepalive has fetched another meanwhile
                self._authenticate_anew(refused, timeout_ms)
        return self._send(name, request, timeout_ms, patient, self._metadata)

    @contextmanager
    def stream(self, name: str, requests: Sequence[Any], timeout_ms: float) -> Iterator[Any]:
        """The answers to some requests, cancelled at the block's end. Leaves the block early, without an exception,
        after `timeout_ms` and when it is cancelled from another thread. Raises CallFailed when the stream breaks.
        """
        at = self._at
        line = self._line(at)
        heard = line.heard
        # A member cut off from the leader would keep silent; asked this way, it ends the stream instead.
        metadata = (*self._metadata, ("hasleader", "true"))
        call = getattr(line.member, name)
        answers = opened(lambda: call(iter(requests), timeout=timeout_ms / 1000, metadata=metadata))
        try:
            yield answers
        except grpc.RpcError as failed:
            if not (answers.cancelled() or _time_is_up(failed)):
                raise self._failure(at, line, heard, failed) from failed
        finally:
            answers.cancel()

    def authenticate(self, timeout_ms: float, patient: bool) -> None:
        """Fetch a token where the endpoint has a user; every later call carries it. Raises CallFailed."""
        secrets = self._endpoint.secrets
        if "user" in secrets:
            question = etcdrpc.AuthenticateRequest(name=secrets["user"], password=secrets.get("password", ""))
            self._metadata = (("token", self._send("authenticate", question, timeout_ms, patient, ()).token),)

    def close(self) -> None:
        """Give the channels back; whoever still calls gets CallFailed. Idempotent."""
        self._closed = True
        while self._lines:
            channels.give_back(self._lines.popitem()[1])

    def _send(
        self, name: str, request: Any, timeout_ms: float, patient: bool, metadata: tuple[tuple[str, str], ...]
    ) -> Any:
        at = self._at
        line = self._line(at)
        heard = line.heard
        try:
            answer = getattr(line.member, name)(
                request, timeout=timeout_ms / 1000, metadata=metadata, wait_for_ready=patient
            )
        except grpc.RpcError as failed:
            raise self._failure(at, line, heard, failed) from failed
        line.heard += 1
        return answer

    def _authenticate_anew(self, refused: CallFailed, timeout_ms: float) -> None:
        """Raises the refusal, with why there is no new token: what was refused has had no effect."""
        try:
            self.authenticate(timeout_ms, patient=True)
        except CallFailed as failed:
            refused.args = (f"{refused}; then, asked for a new token, {failed}",)
            raise refused from failed

    def _line(self, at: int) -> Line:
        if self._closed:
            raise CallFailed(self.addresses[at], grpc.StatusCode.CANCELLED, "this client is closed")
        line = self._lines.get(at)
        if line is not None and line.trusted:
            return line
        new = self._lines[at] = channels.take(self._endpoint.addresses[at], self._endpoint)
        if line is not None:
            channels.give_back(line)
        return new

    def _failure(self, at: int, line: Line, heard: int, failed: Any) -> CallFailed:
        code = failed.code()
        if code is grpc.StatusCode.DEADLINE_EXCEEDED and line.heard == heard:
            channels.found_silent(line)
        elif code in _REFUSED:
            line.heard += 1
        if code not in _REFUSED and code is not grpc.StatusCode.CANCELLED and self._at == at:
            self._at = (at + 1) % len(self._endpoint.addresses)
        return CallFailed(self._endpoint.addresses[at], code, failed.details() or "")


def _time_is_up(failed: Any) -> bool:
    """Did the stream end at our own deadline? It travels with the request, so the member may be the first to act on it,
    and etcd 3.4 tells it in these words under a code of its own."""
    code = failed.code()
    reported = code is grpc.StatusCode.UNKNOWN and failed.details() == "context deadline exceeded"
    return reported or code is grpc.StatusCode.DEADLINE_EXCEEDED
