"""What the clients do. Each parameter is described once: its limits, its unit, its help, and how people ask for it.

Everything else is made from these fields: the record in a run's plan, Locust's options and the form of its page
(bench/load/options.py), the command line of a planned run (bench/load/runner.py), the options of `lockbench run` and
the keys of a workload file (bench/campaign/asked.py). To add a parameter, add a field, and name it in `_ADDED`: older
records do not have it.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from bench.records.durations import duration_text
from bench.records.network import NO_NETWORK, network_name

WORKLOADS = ("uncontended", "contended", "saturation", "rate", "hot-cold", "contended-rate", "update", "consume")
UNCONTENDED, CONTENDED, SATURATION, RATE, HOT_COLD, CONTENDED_RATE, UPDATE, CONSUME = WORKLOADS
DELIVERIES = 2  # of each message to consume, one right after the other: at least once is rarely once
JOBS = (UPDATE, CONSUME)  # each operation is a whole job on a record, by one of these ways
WAYS = ("lock", "for-update", "version", "idempotency-key", "unguarded")
BY_LOCK, BY_ROW_LOCK, BY_VERSION, BY_KEY, UNGUARDED = WAYS
_WITH_SHARED_KEYS = tuple(name for name in WORKLOADS if name != UNCONTENDED)
_LOCKS_ALONE = tuple(name for name in WORKLOADS if name not in JOBS)
MEETING = (CONTENDED, HOT_COLD, CONTENDED_RATE, *JOBS)  # here clients meet at a key in any case
OPEN_LOOPS = (RATE, CONTENDED_RATE)  # operations arrive at instants of their own
# Where keys is 0; clients of the others then have one each.
KEYS_OF = {CONTENDED: 1, HOT_COLD: 100, CONTENDED_RATE: 1, UPDATE: 1, CONSUME: 50_000}
# Of strangers, between two operations, on average: often enough to notice what keeps them waiting, too seldom to be it.
STRANGERS_PAUSE_MS = 10.0
ARRIVALS = ("poisson", "uniform")
THINKS = ("fixed", "exponential")
NO_FAULT = "none"
HOLDER_KILLED = "holder-killed"
FAULTS = (NO_FAULT, "leader-killed", "minority-stopped", "majority-stopped", HOLDER_KILLED)
AUTO = "auto"  # wait as suits the system and the workload
# A client has a connection and an alarm, two descriptors of the ten thousand that Locust asks for, and some need more.
# A load process is saturated by far fewer: 1 000 clients are a mistake long before they are a danger to the machine.
CLIENTS_PER_PROCESS_AT_MOST = 1_000
PROCESSES_AT_MOST = 64
_LABEL_CHARACTERS_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class Parameter:
    """How people ask for a parameter, and how a table tells its value.

    The second half comes from the field itself.
    """

    option: str  # of `lockbench run`, and the key in a workload file
    example: str
    shown: str = "{}"  # in a name such as "contended, 32 clients, hold 10 ms"
    shown_one: str = ""  # the same of 1
    unit: str = ""  # ms or s: it is a duration
    choices: tuple[str, ...] = ()
    of: tuple[str, ...] = WORKLOADS  # the workloads that have it
    zero: str = ""  # what 0 means in Locust's options
    initial: Any = None  # what Locust's options begin with, where the record has no default or another one
    asked_from: float | None = None  # the lowest value to ask for, where 0 in a record means that there is none
    planned_from: float = 0  # the lowest of a planned run, where a record or Locust may have less
    planned_none: bool = True  # may a planned run also have 0, where a record may?
    in_form: bool = True

    field: str = ""
    kind: type = str
    help: str = ""
    low: float = 0
    high: float = 0

    def text(self, value: Any) -> str:
        """A value in words: 32 clients, hold 10 ms."""
        if value == 1 and self.shown_one:
            return self.shown_one
        if self.unit:
            return self.shown.format(duration_text(value, self.unit))
        return self.shown.format(f"{value:g}" if self.kind is float else value)

    @property
    def example_text(self) -> str:
        """The example as one would type it, a duration with its unit."""
        return duration_text(float(self.example), self.unit).replace(" ", "") if self.unit else self.example


class Behaviour(BaseModel):
    """What each client does. How many there are belongs to the `Workload`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[
        str,
        Field(description="What the clients do: own keys, the same key, a rate"),
        Parameter("workload", "contended", choices=WORKLOADS, initial=UNCONTENDED),
    ]
    keys: Annotated[  # 0: each client has its own
        int,
        Field(ge=0, le=1_000_000, description="Number of keys that the clients share, or of records or messages"),
        Parameter("keys", "4", "{} keys", "1 key", of=_WITH_SHARED_KEYS, initial=0, zero="as the workload says"),
    ]
    ttl_ms: Annotated[
        int,
        Field(ge=1, le=86_400_000, description="Lease of a lock"),
        Parameter("ttl", "10000", "TTL {}", unit="ms", planned_from=10),
    ] = 10_000
    hold_ms: Annotated[
        float,
        Field(ge=0, le=3_600_000, description="How long a client holds a lock before it releases it"),
        Parameter("hold", "1.5", "hold {}", unit="ms", of=_LOCKS_ALONE, planned_from=0.1),
    ] = 0.0
    wait: Annotated[
        str,
        Field(description="How to wait for a held lock: auto, try, block, watch, poll-5ms-j20"),
        Parameter("wait", "poll-20ms", "wait {}", of=_WITH_SHARED_KEYS, initial=AUTO),
    ] = "try"
    timeout_ms: Annotated[
        int,
        Field(ge=0, le=3_600_000, description="How long a client waits for a held lock"),
        Parameter("timeout", "5000", "timeout {}", unit="ms", of=_WITH_SHARED_KEYS),
    ] = 5_000
    rate_per_s: Annotated[  # 0: a closed loop
        float,
        Field(ge=0, le=1_000_000, description="rate, contended-rate: operations per second, of all clients together"),
        Parameter("rate", "250", "{} arrivals a second", of=OPEN_LOOPS, initial=100.0, asked_from=0.001),
    ] = 0.0
    arrivals: Annotated[
        str,
        Field(description="rate, contended-rate: at random instants, or at equal gaps"),
        Parameter("arrivals", "uniform", "{} arrivals", choices=ARRIVALS, of=OPEN_LOOPS),
    ] = "poisson"
    think_ms: Annotated[  # 0: a client asks again at once
        float,
        Field(ge=0, le=3_600_000, description="contended, hot-cold: a client's pause between two operations"),
        Parameter("think", "20", "think {}", unit="ms", of=(CONTENDED, HOT_COLD), zero="none", planned_from=0.1),
    ] = 0.0
    thinking: Annotated[
        str,
        Field(description="contended, hot-cold: pauses all of that length, or random around it"),
        Parameter("thinking", "exponential", "{} think time", choices=THINKS, of=(CONTENDED, HOT_COLD)),
    ] = "fixed"
    strangers: Annotated[  # 0: all clients meet at the key
        int,
        Field(
            ge=0,
            le=PROCESSES_AT_MOST * CLIENTS_PER_PROCESS_AT_MOST,
            description="contended: how many of the clients have a key of their own, and no hold",
        ),
        Parameter("strangers", "4", "{} strangers", "1 stranger", of=(CONTENDED,), zero="none"),
    ] = 0
    pool: Annotated[  # 0: each client has its own connection
        int,
        Field(
            ge=0,
            le=CLIENTS_PER_PROCESS_AT_MOST,
            description="contended: connections shared by all clients of a process",
        ),
        Parameter("pool", "4", "pool of {}", of=(CONTENDED,), zero="one for each client"),
    ] = 0
    zipf_exponent: Annotated[
        float,
        Field(ge=0, le=10, description="hot-cold: how unevenly the keys are used"),
        Parameter("zipf", "1.2", "Zipf {}", of=(HOT_COLD,), initial=0.99, zero="all alike"),
    ] = 0.0
    way: Annotated[
        str,
        Field(description="update, consume: how a job is kept from overwriting or repeating another's"),
        Parameter("way", "version", "way {}", choices=WAYS, of=JOBS),
    ] = BY_LOCK
    compute_ms: Annotated[
        float,
        Field(ge=0, le=3_600_000, description="update, consume: how long a job computes between reading and writing"),
        Parameter("compute", "1", "compute {}", unit="ms", of=JOBS, zero="not at all", planned_from=0.1),
    ] = 0.0
    step_s: Annotated[  # 0: no ladder
        float,
        Field(ge=0, le=3_600, description="saturation: length of each step of 1, 2, 4 ... clients before the window"),
        Parameter(
            "step", "1", "step {}", unit="s", of=(SATURATION,), zero="no steps", in_form=False, planned_from=0.05
        ),
    ] = 0.0
    warmup_s: Annotated[
        float,
        Field(ge=0, le=3_600, description="What starts in the first seconds is not counted"),
        Parameter("warm-up", "2", "warm-up {}", unit="s", planned_from=0.01),
    ] = 1.0
    measure_s: Annotated[  # 0: until the test is stopped, which no planned run is
        float,
        Field(ge=0, le=86_400, description="Length of the measured window, after which the test ends"),
        Parameter(
            "window",
            "60",
            "window {}",
            unit="s",
            initial=0.0,
            zero="no end",
            in_form=False,
            planned_from=0.1,
            planned_none=False,
        ),
    ] = 3.0

    @property
    def shared_keys(self) -> int:
        """Number of keys that all clients draw from; 0: each client has its own."""
        return self.keys or KEYS_OF.get(self.name, 0)

    @property
    def open_loop(self) -> bool:
        """Do operations arrive at instants of their own?"""
        return self.name in OPEN_LOOPS

    @property
    def strangers_from(self) -> int | None:
        """The lowest key number of a stranger, above those of all keys at which clients meet; None: no strangers."""
        return self.shared_keys if self.name == CONTENDED and self.strangers else None


class Workload(Behaviour):
    """What all clients do together. The same parameters in two runs mean that the runs may be pooled."""

    clients: Annotated[
        int,
        Field(
            ge=1,
            le=PROCESSES_AT_MOST * CLIENTS_PER_PROCESS_AT_MOST,
            description="Number of clients; saturation climbs up to it",
        ),
        Parameter("clients", "32", "{} clients", "1 client"),
    ]
    processes: Annotated[
        int,
        Field(ge=1, le=PROCESSES_AT_MOST, description="Number of load processes"),
        Parameter("processes", "2", "{} processes", "1 process"),
    ] = 1
    fault: Annotated[
        str,
        Field(description="What is done to the lock's servers, or to a holder, within the window"),
        Parameter("fault", "leader-killed", "{}", choices=FAULTS, of=(CONTENDED, CONTENDED_RATE)),
    ] = NO_FAULT
    fault_after_s: Annotated[
        float,
        Field(ge=0, le=86_400, description="From the window's opening to the fault"),
        Parameter("fault-after", "4", "after {}", unit="s", of=(CONTENDED, CONTENDED_RATE), planned_from=0.1),
    ] = 1.0
    fault_s: Annotated[
        float,
        Field(ge=0, le=86_400, description="How long servers stay stopped, or are dead before they are started again"),
        Parameter("fault-length", "2", "for {}", unit="s", of=(CONTENDED, CONTENDED_RATE), planned_from=0.1),
    ] = 1.0
    network: Annotated[
        str,
        Field(description="Round trip between clients and servers: none, zone, region, wan"),
        Parameter("network", "rtt=0.5ms", "network {}"),
    ] = NO_NETWORK
    peer_network: Annotated[
        str,
        Field(description="Round trip between the servers of a system: none, rtt=0.5ms, zone, region, wan"),
        Parameter("peer-network", "rtt=0.5ms", "peer network {}"),
    ] = NO_NETWORK
    # What a table calls it where its parameters are not those of the campaign's mode: the user's own name for it, or
    # what was changed. Such runs are never pooled with the mode's own, nor shown in the same column.
    label: Annotated[str, Field(max_length=_LABEL_CHARACTERS_AT_MOST)] = ""

    @field_validator("label")
    @classmethod
    def _is_no_workload(cls, label: str) -> str:
        if label in WORKLOADS:
            raise ValueError(f"{label!r} is the name of a workload")
        return label

    @field_validator("network", "peer_network")
    @classmethod
    def _is_a_network(cls, network: str) -> str:
        return network_name(network)

    @property
    def meeting_clients(self) -> int:
        """How many clients there are besides the strangers."""
        return self.clients if self.strangers_from is None else self.clients - self.strangers

    @property
    def has_fault(self) -> bool:
        """Is something broken within the window? Then its servers are the lab's."""
        return self.fault != NO_FAULT

    @property
    def has_network(self) -> bool:
        """Do its clients reach the servers over delay lines?"""
        return self.network != NO_NETWORK

    @property
    def has_peer_network(self) -> bool:
        """Do its servers reach each other over delay lines?"""
        return self.peer_network != NO_NETWORK

    @property
    def title(self) -> str:
        """What a table calls it. A label is never the name of a workload, so these names mean the modes' own cells."""
        return self.label or self.name

    @property
    def digest(self) -> str:
        """Eight hex digits that change when any parameter does: runs with unlike digests are never pooled.

        A parameter that was added later is left out where it has its default, which is how the runs before it were
        made: they keep their digests.
        """
        tree = self.model_dump(mode="json")
        for name in _ADDED:
            if tree[name] == Workload.model_fields[name].default:
                del tree[name]
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:8]


_OF_A_FAULT = ("fault", "fault_after_s", "fault_s")
_OF_A_JOB = ("way", "compute_ms")
_ADDED = (
    "rate_per_s",
    "arrivals",
    "zipf_exponent",
    "step_s",
    "label",
    "think_ms",
    "thinking",
    *_OF_A_FAULT,
    *_OF_A_JOB,
    "strangers",
    "pool",
    "network",
    "peer_network",
)


_KINDS: dict[Any, type] = {int: int, float: float, str: str}


@cache
def parameters(model: type[Behaviour] = Workload) -> tuple[Parameter, ...]:
    """The parameters that people may ask for, in the order of the fields; the number of clients comes first."""
    found = []
    for name, info in model.model_fields.items():
        words = next((one for one in info.metadata if isinstance(one, Parameter)), None)
        if words is None:
            continue
        limits = {end: getattr(one, end) for one in info.metadata for end in ("ge", "le") if hasattr(one, end)}
        found.append(
            replace(
                words,
                field=name,
                kind=_KINDS[info.annotation],
                help=info.description or "",
                low=limits.get("ge", 0) if words.asked_from is None else words.asked_from,
                high=limits.get("le", 0),
                initial=info.default if words.initial is None else words.initial,
            )
        )
    return tuple(sorted(found, key=lambda one: one.field != "clients"))
