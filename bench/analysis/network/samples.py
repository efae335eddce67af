"""Runs over networks, each reduced to what the cost model needs of it: what lay before the servers, and the medians."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.analysis.floor import CriticalPath, declared_path
from bench.analysis.names import EMULATOR_TAG
from bench.analysis.network.slopes import OPERATIONS, alike_but, is_alone
from bench.analysis.runs import CLIENTS, RunRow
from bench.records.schema import Environment


@dataclass(frozen=True, slots=True)
class Sample:
    """One run; times in µs. Runs of one `network` and `peer_network` are of one setting."""

    run_id: str
    network: str  # as asked for
    rtt_us: float  # between client and servers, as measured
    peer_network: str  # "none": there was only loopback between servers
    peer_rtt_us: float
    fdatasync_us: float  # of the machine, when the campaign began
    p50_us: Mapping[str, float]  # by operation
    p99_us: Mapping[str, float] = field(default_factory=dict)  # by operation, where the sample carries it

    @property
    def setting(self) -> tuple[str, str]:
        return self.network, self.peer_network


@dataclass(frozen=True, slots=True)
class Sampled:
    """The samples of one system in one setting of its servers, with what its adapter declares."""

    system: str
    samples: tuple[Sample, ...]
    capabilities: Mapping[str, str] = field(default_factory=dict)
    durability: Mapping[str, str] = field(default_factory=dict)  # the servers' own settings
    emulator: bool = False
    bounds: tuple[str, ...] = ()  # what makes its latencies upper bounds

    def path(self, operation: str) -> CriticalPath | None:
        """What the adapter declares of an operation; None: not recorded."""
        try:
            return declared_path(self.capabilities, self.durability, operation)
        except KeyError:
            return None


def sampled(
    rows: Iterable[RunRow], environment: Environment, own: Mapping[str, Environment] | None = None
) -> tuple[Sampled, ...]:
    """Of each system the largest set of alike runs, in the order of the rows; `own` is a campaign's environment."""
    groups: dict[tuple[object, ...], list[RunRow]] = {}
    for row in rows:
        if is_alone(row) and (row.network is not None or row.peer_network is not None):
            key = (row.system, row.setting, alike_but(row.workload, "network", "peer_network"))
            groups.setdefault(key, []).append(row)
    largest: dict[str, list[RunRow]] = {}
    for runs in groups.values():
        if len(runs) > len(largest.get(runs[0].system, ())):
            largest[runs[0].system] = runs
    return tuple(_of(system, runs, environment, own or {}) for system, runs in largest.items())


def _of(system: str, runs: Sequence[RunRow], environment: Environment, own: Mapping[str, Environment]) -> Sampled:
    setting = runs[0].setting
    return Sampled(
        system,
        tuple(_sample(run, own.get(run.campaign_id, environment)) for run in runs),
        runs[0].capabilities,
        dict(setting.durability) if setting else {},
        emulator=setting is not None and EMULATOR_TAG in setting.tags,
        bounds=tuple(dict.fromkeys(word for run in runs for word in run.bounds if word != CLIENTS)),
    )


def _sample(run: RunRow, environment: Environment) -> Sample:
    """Where a run had no network there was loopback."""
    loopback_us = environment.loopback_rtt_us_p50
    return Sample(
        run.run_id,
        run.workload.network,
        loopback_us if run.network is None else run.network.rtt_us,
        run.workload.peer_network,
        loopback_us if run.peer_network is None else run.peer_network.rtt_us,
        environment.fdatasync_us_p50,
        _quantiles(run, "p50"),
        _quantiles(run, "p99"),
    )


def _quantiles(run: RunRow, quantile: str) -> Mapping[str, float]:
    found = {operation: run.metrics.get(f"{operation}_us_{quantile}") for operation in OPERATIONS}
    return {operation: value for operation, value in found.items() if value is not None}
