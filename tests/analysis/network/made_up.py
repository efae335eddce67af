"""Networks that were never measured."""

from bench.records.schema import NetworkMeasured, PeerNetworkMeasured, RoundTrips


def trips(us: float) -> RoundTrips:
    return RoundTrips(us_p25=us - 2.0, us_p50=us, us_p75=us + 2.0, samples=100)


def network(rtt_us: float, **changes: object) -> NetworkMeasured:
    """Lines that were as asked, and had time to spare."""
    usual: dict[str, object] = {
        "asked": f"rtt={rtt_us / 1_000:g}ms",
        "placement": "0",
        "added_us_asked": rtt_us - 10.0,
        "direct": trips(10.0),
        "undelayed": trips(55.0),
        "before": (trips(rtt_us - 1.0), trips(rtt_us)),
        "after": (trips(rtt_us), trips(rtt_us + 1.0)),
        "messages": 4_000,
        "messages_per_s": 2_000.0,
        "messages_per_s_at_most": 30_000.0,
        "busy_share": 0.07,
        "late_us_p50_alone": 20.0,
        "late_us_p50": 21.0,
        "late_us_p99": 90.0,
    }
    return NetworkMeasured.model_validate({**usual, **changes})


def peer_network(rtt_us: float, **changes: object) -> PeerNetworkMeasured:
    """The same between servers."""
    leads = {"leader": "etcd-2", "leader_after": "etcd-2"}
    return PeerNetworkMeasured.model_validate({**network(rtt_us).model_dump(), **leads, **changes})
