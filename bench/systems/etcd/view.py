"""etcd on itself: what its members' metrics pages count and time, summed over the members.

The time of answers is in the histogram of gRPC calls, which a member keeps only with `--metrics=extensive`, as ours do.
It counts from a transaction's arrival to its answer: agreement between members and the durable write are within it.
Acquire and release are one transaction each, so the time of an answer is the mean of the two.
"""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.systems.etcd.gateway import Gateway, NoAnswer

_WITHIN_S = 2.0
_TXN = '{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"}'
_US_PER_S = 1e6

# Name in the view -> the histogram's name and its labels, up to `{` where each peer has its own.
_HISTOGRAMS: Mapping[str, tuple[str, str]] = {
    "answer": ("grpc_server_handling_seconds", _TXN),
    "fsync": ("etcd_disk_wal_fsync_duration_seconds", ""),
    "backend_commit": ("etcd_disk_backend_commit_duration_seconds", ""),  # in batches, and no answer waits for it
    "peer_round_trip": ("etcd_network_peer_round_trip_time_seconds", "{"),  # of probes, some a minute
}


def read(endpoint: Endpoint) -> Mapping[str, float]:
    """Sums over all members. Raises ConnectionError."""
    total: dict[str, float] = {}
    for host, port in endpoint.addresses:
        try:
            samples = Gateway(endpoint.at(((host, port),)), _WITHIN_S).samples()
        except NoAnswer as silent:
            raise ConnectionError(f"etcd at {host}:{port} does not show its metrics: {silent}") from silent
        for name, value in _member(samples).items():
            total[name] = total.get(name, 0.0) + value
    return total


def _member(samples: Mapping[str, float]) -> Mapping[str, float]:
    view: dict[str, float] = {}
    if sent := _matching(samples, "grpc_server_msg_received_total{"):
        view["requests"] = sum(sent)
    for name, (series, labels) in _HISTOGRAMS.items():
        counts = _matching(samples, f"{series}_count{labels}")
        if counts:
            view[f"{name}_calls"] = sum(counts)
            view[f"{name}_us"] = sum(_matching(samples, f"{series}_sum{labels}")) * _US_PER_S
    return view


def _matching(samples: Mapping[str, float], series: str) -> list[float]:
    if series.endswith("{"):
        return [value for name, value in samples.items() if name.startswith(series)]
    return [samples[series]] if series in samples else []
