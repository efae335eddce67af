"""What is done to the servers of a run before its load: proven, brought to their settings, put in their place, warm."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.campaign.modes import QUICK, mode_of
from bench.campaign.servers import Progress
from bench.campaign.warming import warm_up
from bench.load.runner import systems_behind
from bench.records.schema import RunPlan, WarmUp
from bench.records.store import CampaignFolder
from bench.servers.running.pinning import Placement, pin, place, places
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec


@dataclass(frozen=True, slots=True)
class Ready:
    """Where generator and servers of a run are, and how its servers were warmed up, by set."""

    placement: Placement
    warmed: dict[str, WarmUp] = field(default_factory=dict)


class Readiness:
    """The servers of one campaign, while it runs. `readiness` makes it."""

    def __init__(
        self, folder: CampaignFolder, supervisor: Supervisor, specs: Sequence[ServerSpec], progress: Progress
    ) -> None:
        self._folder = folder
        self._campaign = folder.campaign
        self._supervisor = supervisor
        self._specs = specs
        self._progress = progress
        self._warm: dict[tuple[str, str], WarmUp] = {}  # by set, and who served: after a restart all begins anew
        self._places: dict[int, set[int]] = {}  # where each process could run before

    def of(self, plan: RunPlan) -> Ready:
        """Have the run's own servers ready. Raises LockbenchError."""
        prepare_servers(plan, self._supervisor, self._specs)
        behind = {entry.server_set: entry for entry in systems_behind(plan)}
        specs = {entry.name: spec for entry in behind.values() if (spec := entry.servers) is not None}
        nodes = sum(len(self._supervisor.running(spec).pids) for spec in specs.values())
        placement = place(self._campaign.pinned, plan.workload.processes, nodes)
        self._put(placement)
        warmed = {spec.name: self._warmed(plan, name, spec, placement) for name, spec in specs.items()}
        return Ready(placement, warmed)

    def _warmed(self, plan: RunPlan, system_name: str, spec: ServerSpec, placement: Placement) -> WarmUp:
        known = (spec.name, self._supervisor.running(spec).identity)
        if known not in self._warm:
            mode = mode_of(self._campaign.mode) or QUICK
            self._warm[known] = warm_up(
                plan.model_copy(update={"system": system_name}),
                self._folder.path,
                self._supervisor,
                placement,
                mode.warming_round_s,
                mode.warming_rounds_at_most,
                self._progress,
            )
        return self._warm[known]

    def _put(self, placement: Placement) -> None:
        """All that run of ours, also sets that are idle in this run: their heartbeats are in the generator's way."""
        for spec in self._specs:
            found = places(self._supervisor.running(spec).pids.values())
            for pid, processors in found.items():
                # One that stands in this place already was put there by a campaign that was killed, which alone knew
                # where it could run before: as everything that lockbench starts, wherever lockbench may.
                was = processors if processors != placement.servers else placement.generator | placement.servers
                self._places.setdefault(pid, set(was))
            # Those in their place already have their threads and children with them, and looking for these takes long.
            pin((pid for pid, processors in found.items() if processors != placement.servers), placement.servers)

    def put_back(self) -> None:
        """Let every process run where it could before."""
        for pid, processors in self._places.items():
            pin([pid], processors)


@contextmanager
def readiness(
    folder: CampaignFolder, supervisor: Supervisor, specs: Sequence[ServerSpec], progress: Progress
) -> Iterator[Readiness]:
    """For the length of a campaign; whatever ends it, servers that stay up may run everywhere again."""
    made = Readiness(folder, supervisor, specs, progress)
    try:
        yield made
    finally:
        made.put_back()


def prepare_servers(plan: RunPlan, supervisor: Supervisor, specs: Sequence[ServerSpec]) -> None:
    """Prove the run's own servers once more (and start them again if the last run lost them); set the variant."""
    for entry in systems_behind(plan):
        spec = entry.servers
        if spec is not None:
            supervisor.up([one for one in specs if one.name == spec.name])
            supervisor.configure(spec, entry.server_variant)
