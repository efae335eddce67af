"""Which lines a calibration has, and from which measurements each takes its samples."""

from dataclasses import dataclass, field

from bench.records.calibration import Bound, Line
from bench.systems.registry import SYSTEMS

MANY = 16  # clients


@dataclass(frozen=True, slots=True)
class Load:
    """One Locust run: a system of the registry, clients, and load processes."""

    system: str
    clients: int
    processes: int = 1


@dataclass
class Samples:
    """What was measured so far, by the name of the line that uses it."""

    instrument: dict[str, list[float]] = field(default_factory=dict)
    native: dict[str, list[float]] = field(default_factory=dict)

    def add(self, line: str, instrument: float) -> None:
        """One repetition of the instrument's side."""
        self.instrument.setdefault(line, []).append(instrument)

    def add_native(self, line: str, native: float) -> None:
        """One repetition of the native side."""
        self.native.setdefault(line, []).append(native)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line before it was measured. `load` is what is sampled to explain a miss."""

    name: str
    title: str
    load: Load
    unit: str
    against: str = ""
    target: float | None = None
    bound: Bound = Bound.AT_MOST

    def line(self, samples: Samples, explanation: str = "") -> Line:
        """The finished line."""
        return Line(
            name=self.name,
            title=self.title,
            unit=self.unit,
            against=self.against,
            instrument=tuple(samples.instrument[self.name]),
            native=tuple(samples.native.get(self.name, ())),
            target=self.target,
            bound=self.bound,
            explanation=explanation,
        )


_BENCHMARK = "redis-benchmark"
_SET = Load("redis-set", MANY)
_SET_TWO = Load("redis-set", MANY, processes=2)
_SET_ALONE = Load("redis-set", 1)
_ROW = Load("postgres-row", MANY)
_ROW_ALONE = Load("postgres-row", 1)
# By system: the client's CPU for a lock pair that its registry entry promises.
COST_MS = {
    name: entry.client_cost_target_ms for name, entry in SYSTEMS.items() if entry.client_cost_target_ms is not None
}

WANTED: tuple[Wanted, ...] = (
    Wanted(
        "redis-set-rate",
        f"redis: SET NX PX, {MANY} clients, one Locust process",
        _SET, "commands/s", f"{_BENCHMARK} -c {MANY}", 0.30, Bound.AT_LEAST,
    ),
    Wanted(
        "redis-set-rate-two-processes",
        f"redis: SET NX PX, {MANY} clients, two Locust processes",
        _SET_TWO, "commands/s", f"{_BENCHMARK} -c {MANY}", 0.45, Bound.AT_LEAST,
    ),
    Wanted(
        "redis-set-p50",
        "redis: SET NX PX, one client, p50",
        _SET_ALONE, "µs", f"{_BENCHMARK} -c 1", 2.0,
    ),
    Wanted(
        "redis-set-p50-to-mean",
        "redis: the same p50 by the native mean",
        _SET_ALONE, "µs", f"{_BENCHMARK} -c 1, mean",
    ),
    Wanted(
        "redis-lock-rate",
        f"redis: the lock's own pair of scripts, {MANY} clients",
        Load("redis", MANY), "pairs/s", f"{_BENCHMARK} -c {MANY}, each script by itself", None, Bound.AT_LEAST,
    ),
    Wanted(
        "postgres-rate",
        f"postgres-row: {MANY} clients, one Locust process",
        _ROW, "transactions/s", f"pgbench -c {MANY}", 0.60, Bound.AT_LEAST,
    ),
    Wanted(
        "postgres-p50",
        "postgres-row: transaction of one client, p50",
        _ROW_ALONE, "µs", "pgbench -c 1", 1.6,
    ),
    *(
        Wanted(
            f"cpu-{name}", f"{name}: client CPU for an acquire and a release, uncontended",
            Load(name, 1), "ms", "", target,
        )
        for name, target in COST_MS.items()
    ),
)  # fmt: skip
