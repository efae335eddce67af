"""The servers of one live session: private ones that may be broken, and beside them whatever is the reader's own."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench.campaign.servers import Progress
from bench.hazards.lab.lab import Lab, open_lab
from bench.load.endpoints import to_environment
from bench.servers.endpoint import Endpoint
from bench.servers.running.supervisor import Supervisor
from bench.systems.registry import SYSTEMS, System, server_sets

_NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Served:
    """Systems that answer, in two sorts: `staged` ones have the lab's servers, and only these are ever struck."""

    systems: Mapping[str, System]
    staged: Mapping[str, System]
    lab: Lab | None
    own: Supervisor  # of all that is not the lab's

    def supervisor_of(self, entry: System) -> Supervisor:
        """Who knows a system's servers."""
        return self.lab.supervisor if self.lab is not None and entry.name in self.staged else self.own

    def surroundings(self) -> dict[str, str]:
        """Environment variables that tell a load process where they all are. Never print or store them."""
        found: dict[str, str] = {}
        for entry in self.systems.values():
            if (spec := entry.servers) is not None:
                endpoint: Endpoint = self.supervisor_of(entry).running(spec).endpoint
                found |= to_environment(entry, endpoint)
        return found


@contextmanager
def served(supervisor: Supervisor, systems: Sequence[System], progress: Progress = lambda _: None) -> Iterator[Served]:
    """Have the servers of these systems for a block, and so of all that live on them.

    Those that are started natively belong to the session and are gone afterwards, also after `kill -9`; containers and
    the reader's own are brought up and taken down as by `lockbench up` and `down`.

    Raises ServersError, Died or TooLate; HomeBusy while another session or hazard run has the lab.
    """
    specs = server_sets(systems)
    supervisor.require(specs)
    supervisor.check_variables(specs)
    native = [spec for spec in specs if supervisor.source(spec) == _NATIVE]
    others = [spec for spec in specs if spec not in native]
    sets = {spec.name: spec in native for spec in specs}
    known = {name: entry for name, entry in SYSTEMS.items() if entry.server_set in sets}
    staged = {name: entry for name, entry in known.items() if sets[str(entry.server_set)]}
    with ExitStack() as ends:
        lab = ends.enter_context(open_lab(supervisor.home, native, progress)) if native else None
        if others:
            ends.callback(supervisor.down, others)
            supervisor.up(others, progress)
        yield Served(known, staged, lab, supervisor)
