"""The network between the servers of a run: delay lines that were there when they started, and are set for each run.

Servers get to know where the others are when they start, so those of such runs are a set of their own, in a folder of
the home beside the hazard lab's. Between runs the lines hold nothing. What a run asks for is measured as the network
between clients and servers is, through one more line of the same process: whoever connects to the others' lines must
find a server there, also while the probe asks.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench.campaign.networks import Emulated
from bench.campaign.servers import Progress
from bench.hazards.lab.guardian import PEERS
from bench.hazards.lab.lab import Lab, open_lab
from bench.records.network import Network, read_network
from bench.records.processor_time import PEER_LINES
from bench.records.round_trip import echoing
from bench.records.schema import Measured, PeerNetworkMeasured, RunPlan
from bench.servers.network.counts import Counts
from bench.servers.network.lines import Lines
from bench.servers.network.peers import Address, PeerLines, past_lines, peer_lines
from bench.servers.running.pinning import pin, place
from bench.servers.running.readiness import until_ready
from bench.servers.running.state import RunningSet
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.registry import system

_LEADER_WITHIN_S = 30.0
_US_PER_MS = 1_000.0


class EmulatedPeers(Emulated):
    """The lines between the servers of one run, and what was measured through one like them."""

    def __init__(
        self, plan: RunPlan, asked: Network, lines: Lines, echo: Address, spec: ServerSpec, running: RunningSet
    ) -> None:
        self._spec, self._running, self._seed = spec, running, plan.seed
        alone = plan.workload.clients == 1
        super().__init__(asked, lines, echo, place(True, 1).generator, alone, PEER_LINES)
        self._leader = self._leads()
        nodes = {state.node.name: (state.node.host, state.node.port) for state in running.nodes}
        self.asked_at: Sequence[Address] = (nodes[self._leader],) if alone else ()

    def measured_between(self, load: Measured) -> PeerNetworkMeasured:
        """What it was, asked when the load has ended. Raises LinesFailed, and TooLate where no server leads."""
        nodes = [state.node for state in self._running.nodes]
        past = past_lines(self._spec, nodes, self._running.pids)
        found = self.measured(load)
        return PeerNetworkMeasured(**dict(found), leader=self._leader, leader_after=self._leads(), past_lines=past)

    def _leads(self) -> str:
        ask = partial(self._spec.leader, [state.node for state in self._running.nodes])
        return until_ready(ask, time.monotonic() + _LEADER_WITHIN_S, self._spec.title)

    def _before_probe(self) -> Counts:
        return self.lines.become(self._asked.jitter_ms * _US_PER_MS / 2.0, 0.0, self._seed)

    def _after_probe(self) -> Counts:
        """From now on connections are reset, if they are to be: the probe's was not."""
        return self.lines.become(self._asked.jitter_ms * _US_PER_MS / 2.0, self._asked.reset_after_s, self._seed)

    def _probed(self) -> Sequence[Address]:
        return (self.lines.places[self._echo],)


class PeerServers:
    """Servers with delay lines between them, for all runs of a campaign that ask for such. `peer_servers` makes it."""

    def __init__(self, lab: Lab, lines: PeerLines, specs: Sequence[ServerSpec]) -> None:
        self.specs = specs
        self._lab, self._lines = lab, lines

    @property
    def supervisor(self) -> Supervisor:
        return self._lab.supervisor

    @contextmanager
    def network_of(self, plan: RunPlan) -> Iterator[EmulatedPeers | None]:
        """Have the network that a run asks for between its servers; None where it asks for none. Raises LinesFailed."""
        asked, spec = read_network(plan.workload.peer_network), system(plan.system).servers
        if asked is None or spec is None:
            yield None
            return
        lines = self._lines.of(spec.name)
        try:
            yield EmulatedPeers(plan, asked, lines, self._lines.echo, spec, self.supervisor.running(spec))
        finally:
            lines.become(0.0, 0.0, 0)
            lines.hold(0.0, 0.0)


@contextmanager
def peer_servers(home: Path, specs: Sequence[ServerSpec], progress: Progress) -> Iterator[PeerServers]:
    """Have these sets up for a block, apart from all others of this home, with lines between the servers of each.

    Whatever ends the block, they end too. Raises LinesFailed, and what `open_lab` raises.
    """
    places = place(True, 1)
    with (
        echoing(places.servers) as echo,
        peer_lines(echo) as lines,
        open_lab(home, specs, progress, PEERS, lines.lay) as lab,
    ):
        # Where they do least harm to the runs of others, until a run of their own puts them elsewhere.
        pin([pid for spec in specs for pid in lab.supervisor.running(spec).pids.values()], places.servers)
        yield PeerServers(lab, lines, specs)
