"""The measurements of a calibration, in their order: each comparison's two sides one after the other, turned around in
every second repetition.

A machine's speed drifts over seconds (neighbours, clock rates, memory). Taken side by side, both halves of a ratio see
the same machine; taken in alternating order, neither is always the one that finds it warm.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.calibrate.comparison import COST_MS, MANY, Samples
from bench.calibrate.locust_runs import LocustRun, run_locust
from bench.calibrate.pgbench import Pgbench
from bench.calibrate.redis_benchmark import ACQUIRE, RELEASE, SET, RedisBenchmark
from bench.campaign.servers import server_view
from bench.servers.counters import gained
from bench.servers.running.supervisor import Supervisor

# Those of the cost lines that no comparison measures on its way, and those whose server is asked where the time goes.
_COST_ONLY = tuple(name for name in COST_MS if name not in ("redis", "postgres-row"))
QUORUM = ("zookeeper", "etcd")


@dataclass(frozen=True, slots=True)
class Step:
    """One measurement, named to whoever waits, and what takes it."""

    words: str
    take: Callable[[], None]


@dataclass
class Rounds:
    """Takes the samples. `runs` keeps the Locust runs of the quorum systems with their servers' view."""

    supervisor: Supervisor
    redis: RedisBenchmark
    postgres: Pgbench
    samples: Samples = field(default_factory=Samples)
    runs: dict[str, list[tuple[LocustRun, Mapping[str, float]]]] = field(default_factory=dict)

    def steps(self, pairs: int) -> Iterator[Step]:
        """All measurements of `pairs` repetitions. Steps raise LoadFailed, RunUnfit or NativeToolFailed."""
        self.postgres.make_rows(MANY)
        for repetition in range(pairs):
            for comparison in self._comparisons():
                yield from comparison if repetition % 2 == 0 else comparison[::-1]

    def _comparisons(self) -> Sequence[Sequence[Step]]:
        costs = [Step(f"client CPU of {name}", lambda name=name: self._cost(name)) for name in _COST_ONLY]  # type: ignore[misc]
        return (
            (
                Step(f"redis-benchmark, {MANY} clients", self._native_set),
                Step(f"Locust on redis, {MANY} clients", self._set),
                Step(f"Locust on redis, {MANY} clients in two processes", self._set_two_processes),
            ),
            (
                Step("redis-benchmark, one client", self._native_set_alone),
                Step("Locust on redis, one client", self._set_alone),
            ),
            (
                Step("redis-benchmark, the lock's scripts", self._native_lock),
                Step(f"Locust on redis, the lock itself, {MANY} clients", self._lock),
            ),
            (
                Step(f"pgbench, {MANY} clients", self._native_row),
                Step(f"Locust on postgres-row, {MANY} clients", self._row),
            ),
            (
                Step("pgbench, one client", self._native_row_alone),
                Step("Locust on postgres-row, one client", self._row_alone),
            ),
            (Step("client CPU of redis", self._redis_cost),),
            costs,
        )

    # -- redis ---------------------------------------------------------------------------------------------------

    def _native_set(self) -> None:
        rate = self.redis.run(SET, MANY).rate_per_s
        self.samples.add_native("redis-set-rate", rate)
        self.samples.add_native("redis-set-rate-two-processes", rate)

    def _set(self) -> None:
        self.redis.empty()
        self.samples.add("redis-set-rate", 2 * self._run("redis-set", MANY).pairs_per_s)  # two commands a turn

    def _set_two_processes(self) -> None:
        self.redis.empty()
        rate = 2 * self._run("redis-set", MANY, processes=2).pairs_per_s
        self.samples.add("redis-set-rate-two-processes", rate)

    def _native_set_alone(self) -> None:
        native = self.redis.run(SET, 1)
        self.samples.add_native("redis-set-p50", native.latency_us_p50)
        self.samples.add_native("redis-set-p50-to-mean", native.latency_us_mean)

    def _set_alone(self) -> None:
        self.redis.empty()
        p50_us = self._run("redis-set", 1).acquire_us_p50
        self.samples.add("redis-set-p50", p50_us)
        self.samples.add("redis-set-p50-to-mean", p50_us)

    def _native_lock(self) -> None:
        """redis-benchmark repeats one command, so the pair's rate is put together from two runs."""
        rates = [self.redis.run(words, MANY).rate_per_s for words in (ACQUIRE, RELEASE)]
        self.samples.add_native("redis-lock-rate", 1.0 / sum(1.0 / rate for rate in rates))

    def _lock(self) -> None:
        self.redis.empty()
        self.samples.add("redis-lock-rate", self._run("redis", MANY).pairs_per_s)

    # -- postgres ------------------------------------------------------------------------------------------------

    def _native_row(self) -> None:
        self.samples.add_native("postgres-rate", self.postgres.run(MANY).rate_per_s)

    def _row(self) -> None:
        self.samples.add("postgres-rate", self._run("postgres-row", MANY).pairs_per_s)

    def _native_row_alone(self) -> None:
        self.samples.add_native("postgres-p50", self.postgres.run(1).latency_us_p50 or 0.0)

    def _row_alone(self) -> None:
        run = self._run("postgres-row", 1)
        # pgbench times the transaction: both of the lock's calls, between which the lock is held for no time.
        self.samples.add("postgres-p50", run.acquire_us_p50 + run.release_us_p50)
        self.samples.add("cpu-postgres-row", run.cpu_ms_per_pair)

    # -- client CPU ----------------------------------------------------------------------------------------------

    def _redis_cost(self) -> None:
        self.redis.empty()
        self._cost("redis")

    def _cost(self, name: str) -> None:
        before = server_view(name, self.supervisor) if name in QUORUM else {}
        run = self._run(name, 1)
        self.samples.add(f"cpu-{name}", run.cpu_ms_per_pair)
        if name in QUORUM:
            view = gained(before, server_view(name, self.supervisor))
            self.runs.setdefault(name, []).append((run, view))
            self.samples.add(f"floor-{name}", run.acquire_us_p50)

    def _run(self, name: str, clients: int, processes: int = 1) -> LocustRun:
        return run_locust(self.supervisor, name, clients, processes)
