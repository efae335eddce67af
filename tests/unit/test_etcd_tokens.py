"""A token that etcd does not take any more is replaced once, and only for the refusals that mean just that.

etcd's words, from api/v3rpc/rpctypes/error.go and server/auth (3.4 to 3.6); what the servers here say is in
`test_etcd_auth.py`.
"""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
import pytest

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.stubs import etcdrpc

OLD_TOKENS = (
    (grpc.StatusCode.UNAUTHENTICATED, "etcdserver: invalid auth token"),
    (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: revision of auth store is old"),
    (grpc.StatusCode.UNKNOWN, "auth: revision in header is old"),
    (grpc.StatusCode.INVALID_ARGUMENT, "auth: revision in header is old"),
)
OTHERS = (
    (grpc.StatusCode.UNAUTHENTICATED, ""),
    (grpc.StatusCode.UNAUTHENTICATED, "a proxy's own word"),
    (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: user name is empty"),
    (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password"),
    (grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: invalid auth management"),
    (grpc.StatusCode.PERMISSION_DENIED, "etcdserver: permission denied"),
    (grpc.StatusCode.FAILED_PRECONDITION, "etcdserver: authentication is not enabled"),
    (grpc.StatusCode.NOT_FOUND, "etcdserver: requested lease not found"),
    (grpc.StatusCode.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: leader changed"),
    (grpc.StatusCode.UNAVAILABLE, "etcdserver: request timed out"),
)
CALLS = {
    "txn": etcdrpc.TxnRequest,
    "range": etcdrpc.RangeRequest,
    "grant": etcdrpc.LeaseGrantRequest,
    "revoke": etcdrpc.LeaseRevokeRequest,
    "keep_alive": etcdrpc.LeaseKeepAliveRequest,
    "time_to_live": etcdrpc.LeaseTimeToLiveRequest,
    "status": etcdrpc.StatusRequest,
    "member_list": etcdrpc.MemberListRequest,
}


class Member(grpc.GenericRpcHandler):
    """Gives tokens in order, and refuses every call that does not carry one of `good`."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        self.refusal = (code, details)
        self.given = 0
        self.good = {"token 1"}
        self.knows_the_password = True
        self.calls: list[tuple[str, str]] = []

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        name = details.method.rpartition("/")[2]
        token = str(dict(details.invocation_metadata).get("token", ""))

        def answer(_: object, context: grpc.ServicerContext) -> bytes:
            if name == "Authenticate":
                if not self.knows_the_password:
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "etcdserver: authentication failed")
                self.given += 1
                return bytes(etcdrpc.AuthenticateResponse(token=f"token {self.given}").SerializeToString())
            self.calls.append((name, token))
            if token not in self.good:
                context.abort(*self.refusal)
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)


@contextmanager
def _cluster(member: Member) -> Iterator[Cluster]:
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((member,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    endpoint = Endpoint((("127.0.0.1", port),), {}, {"user": "u", "password": "p"})
    cluster = Cluster(endpoint, ClientOptions(call_timeout_ms=5_000))
    try:
        cluster.authenticate(5_000, patient=True)
        yield cluster
    finally:
        cluster.close()
        server.stop(None).wait()


@pytest.mark.parametrize(("name", "refusal"), list(itertools.product(CALLS, OLD_TOKENS)))
def test_an_old_token_is_replaced_once_and_the_call_sent_again(name: str, refusal: tuple[grpc.StatusCode, str]) -> None:
    member = Member(*refusal)
    with _cluster(member) as cluster:
        cluster.call(name, CALLS[name]())
        member.good = {"token 2"}
        cluster.call(name, CALLS[name]())
        cluster.call(name, CALLS[name]())
    assert [token for _, token in member.calls] == ["token 1", "token 1", "token 2", "token 2"]


@pytest.mark.parametrize("refusal", OLD_TOKENS)
def test_a_member_that_refuses_every_token_is_asked_twice_and_no_more(refusal: tuple[grpc.StatusCode, str]) -> None:
    member = Member(*refusal)
    with _cluster(member) as cluster:
        member.good = set()
        with pytest.raises(CallFailed, match=refusal[1]) as failed:
            cluster.call("txn", etcdrpc.TxnRequest())
    assert failed.value.refused, "what was refused has had no effect"
    assert len(member.calls) == 2
    assert member.given == 2


@pytest.mark.parametrize("refusal", OLD_TOKENS)
def test_a_password_that_is_not_good_any_more_is_told_and_nothing_has_happened(
    refusal: tuple[grpc.StatusCode, str],
) -> None:
    member = Member(*refusal)
    with _cluster(member) as cluster:
        member.good, member.knows_the_password = {"token 2"}, False
        with pytest.raises(CallFailed, match=r"etcdserver: authentication failed") as failed:
            cluster.call("txn", etcdrpc.TxnRequest())
        assert failed.value.refused
        assert len(member.calls) == 1
        member.knows_the_password = True  # and once it is again, so is the client
        cluster.call("txn", etcdrpc.TxnRequest())


@pytest.mark.parametrize("refusal", OTHERS)
def test_no_other_refusal_asks_for_a_token(refusal: tuple[grpc.StatusCode, str]) -> None:
    member = Member(*refusal)
    with _cluster(member) as cluster:
        member.good = {"token 2"}
        with pytest.raises(CallFailed):
            cluster.call("txn", etcdrpc.TxnRequest())
    assert member.given == 1
    assert len(member.calls) == 1


def test_without_a_user_there_is_no_token_to_replace() -> None:
    member = Member(*OLD_TOKENS[0])
    with _cluster(member) as cluster:
        anonymous = Cluster(Endpoint(cluster.addresses), ClientOptions())
        with pytest.raises(CallFailed):
            anonymous.call("txn", etcdrpc.TxnRequest())
        anonymous.close()
    assert member.given == 1
