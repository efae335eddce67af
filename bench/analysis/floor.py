"""The floor of an acquire, how far above it the measurement is, and where the time in between goes.

The floor is what the algorithm cannot do without on this machine: round trips one after another and durable writes that
the answer waits for, each at the machine's own measured median. No processor time, queue or scheduler is in it.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.cells import NOT_RECORDED, Absent, Cell, Value
from bench.analysis.intervals import Estimate, across_campaigns
from bench.analysis.runs import RunRow
from bench.records.schema import Environment

COMMON = ("answer", "execute", "fsync")  # what the servers time that means the same of every system (`ServerSpec.view`)
NO_SERVER = "n/a (no server)"
OTHER_NETWORK = "n/a (network not measured)"


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """What must happen one after the other before an acquire is answered, in the best case."""

    client_round_trips: int
    peer_round_trips: int
    durable_writes: int

    @property
    def round_trips(self) -> int:
        return self.client_round_trips + self.peer_round_trips

    def floor_us(self, environment: Environment) -> float:
        """On one machine a trip between servers costs what one from the client costs."""
        network_us = self.round_trips * environment.loopback_rtt_us_p50
        return network_us + self.durable_writes * environment.fdatasync_us_p50


@dataclass(frozen=True, slots=True)
class Parts:
    """The median acquire without contention, in µs, and what is known to take part of it.

    The parts come from different clocks: the client's processor time from the load generator, trips and (where the
    server does not time its own) durable writes from the machine, the rest from the server's means over the run. They
    may overlap (a server works while the client's processor is still busy sending), and a mean lies above a median if a
    few calls are slow. So their sum may exceed the median; `excess_us` says by how much, and nothing is cut to fit.
    """

    median_us: float
    mean_us: float
    client_us: float  # processor time of the client, at most; see `client_cpu_us_of_acquire`
    network_us: float
    durable_us: float
    durable_by_server: bool  # timed by the server itself, not by the machine's fdatasync
    server_us: float | None  # None: the server does not tell
    server_with_peers: bool  # agreement between servers is within `server_us`, not within `network_us`

    @property
    def known_us(self) -> float:
        return self.client_us + self.network_us + self.durable_us + (self.server_us or 0.0)

    @property
    def rest_us(self) -> float:
        """What no clock accounts for: scheduling, queues, and work that nobody times."""
        return max(0.0, self.median_us - self.known_us)

    @property
    def excess_us(self) -> float:
        return max(0.0, self.known_us - self.median_us)


def critical_path(cell: Cell) -> CriticalPath | Absent:
    """From the capabilities that the run recorded, and the server's own word on whether it writes durably."""
    setting = cell.setting
    capabilities = next((run.capabilities for run in cell.runs if run.capabilities), None)
    if setting is None or capabilities is None or "acquire_round_trips" not in capabilities:
        return Absent(NOT_RECORDED)
    return declared_path(capabilities, dict(setting.durability))


def declared_path(
    capabilities: Mapping[str, str], durability: Mapping[str, str], operation: str = "acquire"
) -> CriticalPath:
    """From a run's recorded capabilities and its server's durability settings; `operation` is acquire or release.

    Raises KeyError for an older record.
    """
    durable = _settings_say(capabilities.get("durable_when", ""), durability)
    return CriticalPath(
        client_round_trips=int(capabilities[f"{operation}_round_trips"]),
        peer_round_trips=int(capabilities.get("peer_round_trips", "0")),
        durable_writes=int(capabilities[f"{operation}_durable_writes"]) if durable else 0,
    )


def floor_us(cell: Cell, environment: Environment) -> float | Absent:
    """The least that an acquire of this cell can take on this machine; Absent, with the reason, where none is known."""
    path = critical_path(cell)
    if isinstance(path, Absent):
        return path
    if cell.setting is not None and cell.setting.source == "url":
        # The environment's round trip and disk are of this machine; the user's servers have their own.
        return Absent(OTHER_NETWORK)
    return path.floor_us(environment) or Absent(NO_SERVER)


def floor_range_us(cell: Cell, environments: Sequence[Environment]) -> tuple[float, float] | None:
    """Where the floor lies by what its inputs varied: the round trip from burst to burst, all by campaign.

    The floor itself takes the quickest burst. None where it is not known how the inputs varied.
    """
    path = critical_path(cell)
    if isinstance(path, Absent) or not all(one.loopback_rtt_us_bursts for one in environments):
        return None
    ends = [
        path.round_trips * burst + path.durable_writes * one.fdatasync_us_p50
        for one in environments
        for burst in one.loopback_rtt_us_bursts
    ]
    return min(ends), max(ends)


def over_floor(cell: Cell, environment: Environment, own: Mapping[str, Environment] | None = None) -> Value:
    """How many times the floor the median acquire takes, across runs; each campaign's by its `own` environment."""
    floor = floor_us(cell, environment)
    value = cell.value("acquire_us_p50")
    if isinstance(floor, Absent):
        return floor
    return value if isinstance(value, Absent) else across_campaigns(over_floors(cell, environment, own))


def over_floors(
    cell: Cell, environment: Environment, own: Mapping[str, Environment] | None = None
) -> list[list[float]]:
    """The same of each run, by campaign; of a cell that has a floor and a median."""
    found: dict[str, list[float]] = {}
    for run in cell.used:
        floor, median_us = floor_us(cell, (own or {}).get(run.campaign_id, environment)), run.metrics["acquire_us_p50"]
        if not isinstance(floor, Absent) and median_us is not None:
            found.setdefault(run.campaign_id, []).append(median_us / floor)
    return list(found.values())


def client_cpu_us_per_pair(cell: Cell) -> Value:
    """Processor time of the load processes for one acquire and release, everything in them included."""
    return cell.value("client_cpu_us_per_pair")


def client_cpu_us_of_acquire(run: RunRow) -> float | None:
    """Processor time that the client spends within one acquire, at most: half of what it spends within a pair.

    What lies between a release and the next acquire (choosing a key, recording, the loop) is outside of both latencies.
    A lone client that holds for no time does nothing but compute there, so that wall time is taken off its processor
    time. What runs in the background (keepalives, the recorder's own thread) stays in: hence "at most". None: no pair.
    """
    per_pair_us, rate = run.metrics.get("client_cpu_us_per_pair"), run.metrics.get("throughput_pairs_per_s")
    if per_pair_us is None or rate is None:
        return None
    between_us = 0.0
    means_ns = [histogram.mean_ns() for histogram in (run.acquire, run.release) if histogram is not None]
    if run.workload.clients == 1 and run.workload.hold_ms == 0.0:
        between_us = max(0.0, 1e6 / rate - sum(mean_ns or 0.0 for mean_ns in means_ns) / 1_000.0)
    return max(0.0, per_pair_us - between_us) / 2.0


def median_and_path(cell: Cell, metric: str, environment: Environment) -> tuple[Estimate, CriticalPath] | Absent:
    """What a time is laid out from; Absent, with the reason, where the runs do not tell, or met another network."""
    path, value = critical_path(cell), cell.value(metric)
    if isinstance(value, Absent):
        return value
    if isinstance(path, Absent):
        return path
    if isinstance(floor := floor_us(cell, environment), Absent) and floor.reason == OTHER_NETWORK:
        return floor
    return value, path


def network_us(cell: Cell, client_trips: int, peer_trips: int, environment: Environment) -> float:
    """What so many round trips take, each over the network that the runs had there, else over loopback."""
    loopback_us = environment.loopback_rtt_us_p50
    clients_us = [run.network.rtt_us for run in cell.used if run.network is not None] or [loopback_us]
    peers_us = [run.peer_network.rtt_us for run in cell.used if run.peer_network is not None] or [loopback_us]
    return client_trips * statistics.median(clients_us) + peer_trips * statistics.median(peers_us)


def acquire_parts(cell: Cell, environment: Environment) -> Parts | Absent:
    """Where the median acquire of an uncontended cell goes; Absent, with the reason, where the runs do not tell."""
    found = median_and_path(cell, "acquire_us_p50", environment)
    if isinstance(found, Absent):
        return found
    value, path = found
    client_us = [spent for run in cell.used if (spent := client_cpu_us_of_acquire(run)) is not None]
    means_us = [(run.acquire.mean_ns() or 0.0) / 1_000.0 for run in cell.used if run.acquire is not None]
    fsync_us, answer_us, execute_us = (server_mean_us(cell.used, name) for name in ("fsync", "answer", "execute"))
    durable_us = path.durable_writes * (environment.fdatasync_us_p50 if fsync_us is None else fsync_us)
    peer_trips = path.peer_round_trips if answer_us is None else 0
    return Parts(
        median_us=value.value,
        mean_us=statistics.median(means_us),
        client_us=statistics.median(client_us) if client_us else 0.0,
        network_us=network_us(cell, path.client_round_trips, peer_trips, environment),
        durable_us=durable_us,
        durable_by_server=fsync_us is not None and path.durable_writes > 0,
        # An answer's time contains the durable write, which has a part of its own here. Not below 0: the mean of the
        # writes is over all servers, slow ones too, while an answer waits for the fastest majority.
        server_us=execute_us if answer_us is None else max(0.0, answer_us - durable_us),
        server_with_peers=answer_us is not None and path.peer_round_trips > 0,
    )


def server_mean_us(runs: Sequence[RunRow], name: str) -> float | None:
    """The servers' own mean time of one `name`, over all runs together; None where they do not tell.

    The view covers more than the window (see `Measured.server_view`), so sum and count must both come from it.
    """
    calls = sum(run.server_view.get(f"{name}_calls", 0.0) for run in runs if f"{name}_us" in run.server_view)
    spent_us = sum(run.server_view.get(f"{name}_us", 0.0) for run in runs)
    return spent_us / calls if calls else None


def server_means_us(cell: Cell) -> Mapping[str, float]:
    """Everything that the servers timed themselves, by name, as a mean in µs."""
    names = {name.removesuffix("_us") for run in cell.used for name in run.server_view if name.endswith("_us")}
    means = {name: server_mean_us(cell.used, name) for name in sorted(names)}
    return {name: mean for name, mean in means.items() if mean is not None}


def _settings_say(durable_when: str, durability: Mapping[str, str]) -> bool:
    """Does each of `name=value|value, name=value` stand so in the server's own settings? False where none is named."""
    wanted = [part.partition("=") for part in durable_when.split(", ") if part]
    return bool(wanted) and all(durability.get(name, "") in values.split("|") for name, _, values in wanted)
