"""A network of a run: delay lines between its clients and its servers, measured before and after the load.

Those between servers (bench/campaign/peer_networks.py) are measured the same way.

What is asked for is never believed. The lines are opened without a delay, which shows what they cost; then with the
delay, less what was too much at a first trial; and what the probe finds through every line from then on is recorded.
"""

import os
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager

from bench.errors import LockbenchError
from bench.load.runner import systems_behind, where
from bench.records.network import Network, read_network
from bench.records.processor_time import LINES
from bench.records.round_trip import echoing, on, round_trips_us
from bench.records.schema import Measured, NetworkMeasured, RoundTrips, RunPlan
from bench.servers.network.counts import Counts
from bench.servers.network.lines import Lines, LinesFailed, open_lines
from bench.servers.running.pinning import NOT_PINNED, numbers, pin, place
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import System

_LEAST, _MOST, _WITHIN_S = 10, 400, 0.15  # samples of one burst, and how long it goes on where these are slow
_BURSTS = 3
_TRIM_US_AT_MOST = 100.0  # each way; more is no line's own
_US_PER_MS = 1_000.0


class OwnNetwork(LockbenchError):
    """The servers are the user's own, and have a network already."""


class Emulated:
    """The lines of one run, and what was measured through them. `network_of` makes it."""

    def __init__(
        self,
        asked: Network,
        lines: Lines,
        echo: tuple[str, int],
        client: Collection[int],
        beside: bool = True,
        name: str = LINES,
    ) -> None:
        """`client` are the processors from which the probe asks; `beside` has the lines on them too.

        A client that is alone waits while the lines work: beside it they wake at once. Others need its processor.
        `name` is that of the lines' process in the record of processor times.
        """
        self.lines = lines
        self._placement = numbers(client) if beside else NOT_PINNED
        pin([lines.pid], client if beside else os.sched_getaffinity(0))
        self._asked, self._echo, self._client, self._name = asked, echo, client, name
        self._wanted_us = (asked.rtt_ms + asked.jitter_ms / 2.0) * _US_PER_MS
        self.direct = self._quickest(echo)
        self._before_probe()
        idle = lines.hold(0.0, 0.0, jitters=False)
        self.undelayed = summary([one for us in self._through_all_us() for one in us])
        self.per_s_at_most = _messages_per_cpu_s(idle, lines.counts())
        self._hold()
        self._before = [summary(us) for us in self._through_all_us()]
        self._alone = lines.counts()
        self._began = self._after_probe()

    @property
    def rtt_us(self) -> float:
        """The round trip that the load will have: what was found through the lines before it."""
        return statistics.median(one.us_p50 for one in self._before)

    def measured(self, load: Measured | None = None) -> NetworkMeasured:
        """What it was, asked when the load has ended. Raises LinesFailed.

        How busy the lines were is of the window of `load`; without one, of all the time that they carried.
        """
        ended = self.lines.counts()
        self._before_probe()
        after = [summary(us) for us in self._through_all_us()]
        if load is None:
            busy_share = (ended.cpu_ns - self._began.cpu_ns) / max(1, ended.at_ns - self._began.at_ns)
        else:
            busy_share = load.cpu_s_by_process.get(self._name, 0.0) / load.window_s
        return NetworkMeasured(
            asked=self._asked.name,
            placement=self._placement,
            added_us_asked=self._wanted_us,
            direct=self.direct,
            undelayed=self.undelayed,
            before=tuple(self._before),
            after=tuple(after),
            messages=ended.messages - self._began.messages,
            messages_per_s=round(busy_share * _messages_per_cpu_s(self._began, ended), 1),
            messages_per_s_at_most=round(self.per_s_at_most, 1),
            busy_share=round(busy_share, 4),
            late_us_p50_alone=self._alone.late_us_p50,
            late_us_p50=ended.late_us_p50,
            late_us_p99=ended.late_us_p99,
        )

    def _before_probe(self) -> Counts:
        """What connects now is answered by the echo."""
        return self.lines.divert(self._echo)

    def _after_probe(self) -> Counts:
        """What connects now is answered by the servers."""
        return self.lines.divert(None)

    def _probed(self) -> Sequence[tuple[str, int]]:
        """The lines that the probe asks through."""
        return tuple(self.lines.places.values())

    def _hold(self) -> None:
        """Half of the round trip each way, less what a trial had too much: the line's own work, and its waking."""
        each_us = self._asked.rtt_ms * _US_PER_MS / 2.0
        self.lines.hold(each_us, each_us)
        if not each_us:
            return
        trial = self._quickest(self._probed()[0])
        trim_us = (trial.us_p50 - self.direct.us_p50 - self._wanted_us) / 2.0
        each_us -= min(max(0.0, trim_us), _TRIM_US_AT_MOST)
        self.lines.hold(each_us, each_us)

    def _quickest(self, address: tuple[str, int]) -> RoundTrips:
        """Of a few bursts, as of loopback: whatever else the machine does only makes one slower."""
        return min((summary(self._burst_us(address)) for _ in range(_BURSTS)), key=lambda one: one.us_p50)

    def _through_all_us(self) -> Sequence[Sequence[float]]:
        """The round trips through each line that is probed."""
        return [self._burst_us(place) for place in self._probed()]

    def _burst_us(self, address: tuple[str, int]) -> Sequence[float]:
        try:
            with on(self._client):
                return round_trips_us(address, _LEAST, _MOST, _WITHIN_S)
        except OSError as silent:
            raise LinesFailed(f"no round trip could be measured: {silent}") from silent


@contextmanager
def network_of(plan: RunPlan, supervisor: Supervisor) -> Iterator[Emulated | None]:
    """Have the network that a run asks for between its clients and its servers; None where it asks for none.

    Raises LinesFailed, and NotRunning when the servers are not up.
    """
    asked = read_network(plan.workload.network)
    if asked is None:
        yield None
        return
    targets = [address for entry in systems_behind(plan) for address in where(entry, supervisor)[1].addresses]
    with emulated(asked, targets, plan.seed, beside=plan.workload.clients == 1) as found:
        yield found


@contextmanager
def emulated(
    asked: Network, targets: Sequence[tuple[str, int]], seed: int, *, beside: bool = False
) -> Iterator[Emulated]:
    """Have a network before some addresses for a block, measured. `beside`: see `Emulated`. Raises LinesFailed."""
    jitter_us = asked.jitter_ms * _US_PER_MS / 2.0
    places = place(True, 1)
    with open_lines(targets, jitter_us, asked.reset_after_s, seed) as lines, echoing(places.servers) as echo:
        yield Emulated(asked, lines, echo, places.generator, beside)


def refuse_own_servers(plans: Iterable[RunPlan], supervisor: Supervisor) -> None:
    """Raise OwnNetwork where a run with a network is to be on servers that the user named."""
    asked = {
        (entry.name, option): entry
        for plan in plans
        for option, has in (("network", plan.workload.has_network), ("peer-network", plan.workload.has_peer_network))
        for entry in systems_behind(plan)
        if has
    }
    for (name, option), entry in asked.items():
        if has_own_network(entry, supervisor):
            raise OwnNetwork(f"the servers of {name} are your own, and have a network: leave out --{option}")


def has_own_network(entry: System, supervisor: Supervisor) -> bool:
    """Did the user name a system's servers? Then there is a network before them already."""
    return entry.servers is not None and supervisor.source(entry.servers) == "url"


def summary(samples_us: Sequence[float]) -> RoundTrips:
    """Quartiles of at least two round trips."""
    low, middle, high = statistics.quantiles(samples_us, n=4, method="inclusive")
    return RoundTrips(us_p25=round(low, 1), us_p50=round(middle, 1), us_p75=round(high, 1), samples=len(samples_us))


def _messages_per_cpu_s(before: Counts, after: Counts) -> float:
    """What a whole processor would carry at this cost."""
    return (after.messages - before.messages) / max(1.0, after.cpu_ns - before.cpu_ns) * 1e9
