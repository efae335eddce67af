"""The calls to one etcd member that a lock needs, from etcd3's generated stubs."""

from bench.systems.etcd.grpc_alone import grpc
from bench.systems.etcd.stubs import etcdrpc


class Member:
    """Callables of gRPC: each takes a message, `timeout` in seconds and `metadata`."""

    def __init__(self, channel: grpc.Channel) -> None:
        kv, lease = etcdrpc.KVStub(channel), etcdrpc.LeaseStub(channel)
        self.txn, self.range = kv.Txn, kv.Range
        self.grant, self.revoke, self.time_to_live = lease.LeaseGrant, lease.LeaseRevoke, lease.LeaseTimeToLive
        self.authenticate = etcdrpc.AuthStub(channel).Authenticate
        self.status = etcdrpc.MaintenanceStub(channel).Status
        self.member_list = etcdrpc.ClusterStub(channel).MemberList
        # Declared as a stream of requests. One request and no more is a valid stream, and needs neither an iterator nor
        # the thread that gRPC would start to drain it. (A watch has two requests, and that thread while they are sent.)
        self.keep_alive = channel.unary_unary(
            "/etcdserverpb.Lease/LeaseKeepAlive",
            request_serializer=etcdrpc.LeaseKeepAliveRequest.SerializeToString,
            response_deserializer=etcdrpc.LeaseKeepAliveResponse.FromString,
        )
        self.watch = channel.stream_stream(
            "/etcdserverpb.Watch/Watch",
            request_serializer=etcdrpc.WatchRequest.SerializeToString,
            response_deserializer=etcdrpc.WatchResponse.FromString,
        )
