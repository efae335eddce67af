"""What a member says of itself, for the record of a run."""

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.gateway import Gateway, NoAnswer
from bench.systems.etcd.stubs import etcdrpc

_FSYNCS = "etcd_disk_wal_fsync_duration_seconds_count"


def read(cluster: Cluster, endpoint: Endpoint, within_ms: int) -> ServerFacts:
    """Version and durability as reported by the member that the client speaks to, and who the cluster is.

    Raises ConnectionError.
    """
    host, port = cluster.address
    try:
        status = cluster.call("status", etcdrpc.StatusRequest())
        members = cluster.call("member_list", etcdrpc.MemberListRequest()).members
        # etcd's API does not show its flags. But it counts its own fdatasyncs of the log, and with unsafe-no-fsync
        # there are none; joining the cluster alone takes some.
        fsyncs = Gateway(endpoint.at(((host, port),)), within_ms / 1000).metric(_FSYNCS)
    except (CallFailed, NoAnswer) as silent:
        raise ConnectionError(f"etcd at {host}:{port} does not report its facts: {silent}") from silent
    fsync = {None: "not reported", 0.0: "off"}.get(fsyncs, "on")
    identity = " ".join(
        [f"cluster {status.header.cluster_id:x} members", *sorted(f"{member.ID:x}" for member in members)]
    )
    return ServerFacts(status.version, identity, {"wal_fsync": fsync, "voters": str(len(members))}, len(members))
