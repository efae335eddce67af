"""What a campaign of load consists of: the cells (system x workload), and how much of each a mode measures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.analysis.contention.fault_kinds import EVERY as EVERY_FAULT
from bench.analysis.contention.fault_kinds import faults_of
from bench.errors import LockbenchError
from bench.records.workload import (
    AUTO,
    CONSUME,
    CONTENDED,
    CONTENDED_RATE,
    HOT_COLD,
    KEYS_OF,
    RATE,
    SATURATION,
    UNCONTENDED,
    UPDATE,
    WORKLOADS,
    Workload,
    parameters,
)
from bench.systems.registry import HEADLINE, SYSTEMS, System, system
from bench.systems.wait import EVERY, ways_to_wait

# The rate is one that the slowest system of the bench keeps up with on two cores, and it gives even the quick window of
# 3 s the 368 operations that a p99 needs. Clients that wait for an arrival cost nothing, so there are plenty.
_RATE_PER_S = 150.0
_RATE_CLIENTS = 16
# With 100 keys the hottest gets a fifth of all requests, and even the coldest is usually asked for in the warm-up:
# the first acquire of a key may have to create it. The exponent is that of YCSB (Cooper and others, SoCC 2010).
_HOT_COLD_EXPONENT = 0.99
# Long enough that every system's hand-off is short beside it, so that one rate is about the same utilisation for all.
_CONTENDED_RATE_HOLD_MS = 20.0
_CONTENDED_RATE_PER_S = 25.0
_CONTENDED_RATE_CLIENTS = 32
_COMPUTE_MS = 1.0
# What a campaign to quote measures; contention has sweeps of its own.
REGULAR = (UNCONTENDED, CONTENDED, SATURATION, RATE, HOT_COLD)


@dataclass(frozen=True, slots=True)
class Mode:
    """How much to measure: small values smoke, large values measure. `workloads` are those that `all` means.

    A saturation run climbs its ladder between warm-up and window; where `saturation_measure_s` is shorter than
    `measure_s`, that pays for the climb.
    """

    name: str
    repetitions: int
    warmup_s: float
    measure_s: float
    contenders: int
    saturation_clients: int
    saturation_warmup_s: float
    saturation_step_s: float
    saturation_measure_s: float
    warming_round_s: float  # of the load before the first run on a set of servers, see warming.py
    warming_rounds_at_most: int
    workloads: tuple[str, ...]


QUICK = Mode(
    "quick",
    repetitions=2,
    warmup_s=1.0,
    measure_s=3.0,
    contenders=8,
    saturation_clients=32,
    saturation_warmup_s=0.5,
    saturation_step_s=0.2,
    saturation_measure_s=2.3,
    warming_round_s=0.3,
    warming_rounds_at_most=10,
    workloads=(UNCONTENDED, CONTENDED, SATURATION),
)
FULL = Mode(
    "full",
    repetitions=6,
    warmup_s=2.0,
    measure_s=10.0,
    contenders=8,
    saturation_clients=32,
    saturation_warmup_s=2.0,
    saturation_step_s=2.0,
    saturation_measure_s=10.0,
    warming_round_s=1.0,
    warming_rounds_at_most=60,
    workloads=REGULAR,
)
# As long windows as a full campaign's, and as few runs as fit into twenty minutes: the reference is several of these,
# hours apart, so that it shows how campaigns differ as well as runs.
REFERENCE = Mode(
    "reference",
    repetitions=2,
    warmup_s=0.5,
    measure_s=10.0,
    contenders=8,
    saturation_clients=32,
    saturation_warmup_s=0.5,
    saturation_step_s=1.0,
    saturation_measure_s=10.0,
    warming_round_s=0.6,
    warming_rounds_at_most=100,
    workloads=REGULAR,
)
MODES = {mode.name: mode for mode in (QUICK, FULL, REFERENCE)}


def mode_of(name: str) -> Mode | None:
    """A mode by its name; None for that of a campaign which was made otherwise."""
    return MODES.get(name)


def choose_systems(names: Sequence[str]) -> tuple[System, ...]:
    """Systems by name. `all` is the six headline systems, each with its durable sibling where there is one."""
    chosen: dict[str, System] = {}
    for name in names:
        for entry in _headline() if name == "all" else (system(name),):
            chosen[entry.name] = entry
    return tuple(chosen.values())


def _headline() -> Sequence[System]:
    return [SYSTEMS[name] for entry in map(system, HEADLINE) for name in (entry.name, entry.durable_variant) if name]


def choose_workloads(names: Sequence[str], mode: Mode) -> tuple[str, ...]:
    """Workloads by name; `all` is those of the mode. Raises LockbenchError with the names that exist."""
    for name in names:
        if name != "all" and name not in WORKLOADS:
            raise LockbenchError(f"no workload {name!r}: choose from {', '.join(WORKLOADS)}, or all")
    asked = [part for name in names for part in (mode.workloads if name == "all" else (name,))]
    return tuple(dict.fromkeys(asked))


def workload_of(name: str, entry: System, mode: Mode) -> Workload:
    """The parameters of one cell. Clients that have keys of their own never meet, so they try once and never wait."""
    alone = Workload(name=name, clients=1, keys=0, wait="try", warmup_s=mode.warmup_s, measure_s=mode.measure_s)
    meeting = {"clients": mode.contenders, "hold_ms": 1.0, "wait": entry.default_wait}
    job = {"clients": mode.contenders, "wait": entry.default_wait, "compute_ms": _COMPUTE_MS}
    changes: dict[str, dict[str, object]] = {
        UNCONTENDED: {},
        CONTENDED: {**meeting, "keys": KEYS_OF[CONTENDED]},
        SATURATION: {
            "clients": mode.saturation_clients,
            "warmup_s": mode.saturation_warmup_s,
            "step_s": mode.saturation_step_s,
            "measure_s": mode.saturation_measure_s,
        },
        RATE: {"clients": _RATE_CLIENTS, "rate_per_s": _RATE_PER_S},
        CONTENDED_RATE: {
            **meeting,
            "clients": _CONTENDED_RATE_CLIENTS,
            "keys": KEYS_OF[CONTENDED_RATE],
            "hold_ms": _CONTENDED_RATE_HOLD_MS,
            "rate_per_s": _CONTENDED_RATE_PER_S,
        },
        HOT_COLD: {**meeting, "keys": KEYS_OF[HOT_COLD], "zipf_exponent": _HOT_COLD_EXPONENT},
        UPDATE: {**job, "keys": KEYS_OF[UPDATE]},
        CONSUME: {**job, "keys": KEYS_OF[CONSUME]},
    }
    return alone.model_copy(update=changes[name])


def _ways_of(entry: System) -> tuple[str, ...]:
    return ways_to_wait(entry.default_wait, entry.client_class.capabilities.wait_strategies)


@dataclass(frozen=True, slots=True)
class Asked:
    """A cell that somebody asks for: what is changed of the mode's own parameters, and the name that they gave it."""

    workload: str
    changes: Mapping[str, object] = field(default_factory=dict)
    name: str = ""  # "": it is called after what was changed
    systems: frozenset[str] | None = None  # only these, by name

    def cells_on(self, entry: System, mode: Mode) -> tuple[Workload, ...]:
        """The cell on one system, or one for each way to wait, or fault, that it knows; none where it is for others."""
        if self.systems is not None and entry.name not in self.systems:
            return ()
        each = self._each("wait", EVERY, entry, _ways_of, "wait ")
        each = [cell for one in each for cell in one._each("fault", EVERY_FAULT, entry, faults_of, "")]
        return tuple(one.on(entry, mode) for one in each)

    def _each(
        self, of: str, every: str, entry: System, values: Callable[[System], Sequence[str]], word: str
    ) -> "Sequence[Asked]":
        """A cell for each of the `values` of a parameter where every one was asked for; else the cell itself.

        Only then is the system asked which it knows: its client library is imported for that.
        """
        if self.changes.get(of) != every:
            return [self]
        return [
            replace(self, changes={**self.changes, of: one}, name=f"{self.name}, {word}{one}" if self.name else "")
            for one in values(entry)
        ]

    def on(self, entry: System, mode: Mode) -> Workload:
        """The parameters of the cell on one system, with a label unless they are the mode's own."""
        usual = workload_of(self.workload, entry, mode)
        changes = {name: value for name, value in self.changes.items() if (name, value) != ("wait", AUTO)}
        asked = usual.model_copy(update=changes)
        both = [(one, getattr(asked, one.field), getattr(usual, one.field)) for one in parameters()]
        parts = [one.text(value) for one, value, own in both if value != own]
        label = self.name or (", ".join([self.workload, *parts]) if parts else "")
        return Workload.model_validate({**asked.model_dump(), "label": label})
