"""ZooKeeper on itself: the counters of `mntr`, summed over the servers.

Its clock is whole milliseconds, and how a duration was cut decides whether it can be used. The latency of an update is
the difference of two instants that were each cut: too long as often as too short, so a mean over many is true. The time
of an fsync is a difference that was cut afterwards: a disk of 0.9 ms counts as 0, so its sum is no duration and is kept
under a name that says so (`ServerStats.updateLatency` and `FileTxnLog.commit` of ZooKeeper 3.8).
"""

from collections.abc import Mapping

from bench.servers.endpoint import Endpoint
from bench.servers.tls import client_context
from bench.systems.zookeeper.four_letter import NotAllowed, Unanswered, ask, fields

_WITHIN_S = 2.0
_US_PER_MS = 1e3

# Name in the view -> name in `mntr`, and how many of the view's unit are one of the server's.
_COUNTERS: Mapping[str, tuple[str, float]] = {
    "answer_calls": ("zk_cnt_updatelatency", 1.0),  # creates and deletes: the mean of acquire and release
    "answer_us": ("zk_sum_updatelatency", _US_PER_MS),
    "read_answer_calls": ("zk_cnt_readlatency", 1.0),
    "read_answer_us": ("zk_sum_readlatency", _US_PER_MS),
    "quorum_ack_calls": ("zk_cnt_quorum_ack_latency", 1.0),  # at the leader: from a proposal to its majority
    "quorum_ack_us": ("zk_sum_quorum_ack_latency", _US_PER_MS),
    "fsync_calls": ("zk_cnt_fsynctime", 1.0),
    "fsync_cut_to_whole_ms": ("zk_sum_fsynctime", 1.0),
    "received_packets": ("zk_packets_received", 1.0),
    "requests": ("zk_packets_received", 1.0),
    "sent_packets": ("zk_packets_sent", 1.0),
}


def read(endpoint: Endpoint) -> Mapping[str, float]:
    """Sums over all servers; of a server that allows no `mntr`, nothing. Raises ConnectionError."""
    total: dict[str, float] = {}
    encrypt = client_context(endpoint)
    for host, port in endpoint.addresses:
        try:
            counters = fields(ask(host, port, "mntr", _WITHIN_S, encrypt))
        except NotAllowed:
            continue
        except (OSError, Unanswered) as silence:
            raise ConnectionError(f"ZooKeeper at {host}:{port} does not answer mntr: {silence}") from silence
        for name, (counter, factor) in _COUNTERS.items():
            if counter in counters:
                total[name] = total.get(name, 0.0) + float(counters[counter]) * factor
    return total
