"""Every metric by name: its unit, which way is better, and what it counts. Tables and figures ask here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Direction(StrEnum):
    """Which way is better. `NEITHER`: the metric describes; it does not judge."""

    LOWER = "lower is better"
    HIGHER = "higher is better"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured quantity. `name` is the column's name, unit last or before the quantile."""

    name: str
    unit: str
    direction: Direction
    description: str

    @property
    def more_than_claimed(self) -> str:
        """Words for a value above a claimed range."""
        return "more than claimed" if self.direction is Direction.HIGHER else "slower than claimed"

    @property
    def less_than_claimed(self) -> str:
        """Words for a value below a claimed range."""
        return "less than claimed" if self.direction is Direction.HIGHER else "faster than claimed"


def _latency(phase: str, what: str) -> tuple[Metric, ...]:
    return tuple(
        Metric(f"{phase}_us_{quantile}", "µs", Direction.LOWER, f"{what}: {words} of one run")
        for quantile, words in (
            ("p50", "median"),
            ("p90", "90th percentile"),
            ("p99", "99th percentile"),
            ("p999", "99.9th percentile"),
        )
    )


def _contended(name: str, what: str, statistics: Sequence[str]) -> tuple[Metric, ...]:
    words = {"mean": "mean", "p50": "median", "p99": "99th percentile"}
    return tuple(
        Metric(f"{name}_{one}", "µs", Direction.LOWER, f"{what}: {words[one]} of one run") for one in statistics
    )


_ALL = (
    *_latency("acquire", "from sending an acquire to holding the lock, waiting included"),
    *_latency("response", "from the scheduled instant of an acquire to holding the lock"),
    *_latency("release", "from sending a release to its answer"),
    Metric("acquire_us_mean", "µs", Direction.LOWER, "from sending an acquire to holding the lock: mean of one run"),
    Metric(
        "handed_wait_us_p50",
        "µs",
        Direction.LOWER,
        "wait for a key that another client held before: median of one run",
    ),
    Metric(
        "handed_wait_us_p99",
        "µs",
        Direction.LOWER,
        "wait for a key that another client held before: 99th percentile of one run",
    ),
    Metric(
        "changed_hands_share",
        "1",
        Direction.NEITHER,
        "grants of a key that another client held before, of all grants of a key held before",
    ),
    *_contended(
        "hand_off_us",
        "from one client's release being answered to another's grant being answered, where it waited",
        ("mean", "p50", "p99"),
    ),
    *_contended(
        "kept_hand_off_us",
        "from a client's release being answered to its own next grant, past those who waited",
        ("p50",),
    ),
    *_contended("queue_wait_us", "from asking until the key was free", ("mean", "p50", "p99")),
    *_contended("fair_wait_us", "the same in a fair queue with this run's hold, release and hand-off", ("mean", "p99")),
    Metric("wait_by_fair_p99", "x", Direction.LOWER, "99th percentile of the queue wait by that of a fair queue"),
    Metric(
        "requests_per_grant",
        "requests",
        Direction.LOWER,
        "requests of clients that the servers counted within the window, for each grant; a release is one as well",
    ),
    Metric("key_utilisation", "1", Direction.NEITHER, "share of the window in which the key was held or handed on"),
    Metric(
        "overtaking_share",
        "1",
        Direction.NEITHER,
        "share of the grants that overtook a client who had asked at least one grant earlier",
    ),
    Metric("jain_index", "1", Direction.NEITHER, "Jain's fairness index over the clients' grants: 1 is even"),
    Metric("clients_without_grant", "clients", Direction.NEITHER, "clients that got no lock within the window"),
    Metric("longest_wait_us", "µs", Direction.NEITHER, "the longest wait for an answer, refusals included"),
    Metric("wait_by_time_us", "µs", Direction.LOWER, "the mean wait that a moment of waiting belongs to"),
    Metric("longest_streak", "grants", Direction.NEITHER, "most grants of one key in a row to one client"),
    Metric(
        "stalls_p99",
        "stalls",
        Direction.NEITHER,
        "separate stalls behind the 99th percentile: slow operations that overlap or lie close together are one stall",
    ),
    Metric("stalls_p999", "stalls", Direction.NEITHER, "separate stalls behind the 99.9th percentile"),
    *(
        Metric(
            f"stranger_acquire_us_{quantile}",
            "µs",
            Direction.LOWER,
            f"strangers beside a hot key, from sending an acquire to holding a lock: {words} of one run",
        )
        for quantile, words in (("p50", "median"), ("p99", "99th percentile"))
    ),
    Metric(
        "stranger_pairs_per_s",
        "pairs/s",
        Direction.HIGHER,
        "locks acquired and released again by strangers in one second, all of them together",
    ),
    Metric("stranger_stalls_p99", "stalls", Direction.NEITHER, "separate stalls behind the strangers' 99th percentile"),
    Metric(
        "throughput_pairs_per_s",
        "pairs/s",
        Direction.HIGHER,
        "locks acquired and released again in one second, all clients together",
    ),
    Metric(
        "client_cpu_us_per_pair",
        "µs",
        Direction.LOWER,
        "processor time of the load generator for one acquire and release: what the instrument itself costs",
    ),
    Metric(
        "server_cpu_us_per_pair",
        "µs",
        Direction.LOWER,
        "processor time of all servers together for one acquire and release, idle work included",
    ),
    Metric(
        "pairs_per_server_core_s",
        "pairs",
        Direction.HIGHER,
        "locks acquired and released for each second of processor time that the servers used, all together",
    ),
    Metric(
        "generator_cpu_share",
        "1",
        Direction.LOWER,
        "processor time of a load process divided by the window: near 1 the generator is the bottleneck",
    ),
    Metric("jobs_per_s", "jobs/s", Direction.HIGHER, "whole jobs done in one second, all clients together"),
    *(
        Metric(
            f"job_us_{quantile}", "µs", Direction.LOWER, f"from beginning a job to its end, retries included: {words}"
        )
        for quantile, words in (("p50", "median of one run"), ("p99", "99th percentile of one run"))
    ),
    Metric("retries_per_job", "retries", Direction.NEITHER, "attempts that did not count, for each job that was done"),
    Metric(
        "contention_amplification",
        "x",
        Direction.LOWER,
        "99th percentile of acquiring under contention divided by that without contention",
    ),
)

OF_JOBS = ("jobs_per_s", "job_us_p50", "job_us_p99", "retries_per_job")  # of a workload of jobs alone
OF_STRANGERS = (  # of a workload with strangers alone
    "stranger_acquire_us_p50",
    "stranger_acquire_us_p99",
    "stranger_pairs_per_s",
    "stranger_stalls_p99",
)
METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ALL})


def metric(name: str) -> Metric:
    """One entry. Raises KeyError with the names that exist."""
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}: there are {', '.join(METRICS)}")
    return METRICS[name]
