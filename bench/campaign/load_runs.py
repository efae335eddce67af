"""Runs of load: on the user's servers or our own, one at a time, each with its self-checks.

A run with a fault is on servers of the hazard lab, which exist to be broken: whatever ends the campaign, they end too.
A run with a network between servers is on servers that were started with delay lines between them, and end as well.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from enum import StrEnum, auto

from bench.analysis.runs import WHICH_MEMBER
from bench.analysis.selfchecks import check_run
from bench.campaign.faults.striking import Striking
from bench.campaign.networks import network_of, refuse_own_servers
from bench.campaign.peer_networks import EmulatedPeers, PeerServers, peer_servers
from bench.campaign.readiness import Readiness, prepare_servers, readiness
from bench.campaign.runs import Runs
from bench.campaign.same_experiment import refuse_other_facts
from bench.campaign.servers import Progress, server_view, servers_up
from bench.campaign.traffic import traffic_of
from bench.errors import LockbenchError
from bench.hazards.lab.lab import Lab, open_lab, require_servers
from bench.hazards.lab.servers import LabServers
from bench.load.measured import engine_of
from bench.load.runner import LoadFailed, facts_of, run_load, systems_behind, where
from bench.records.schema import Facts, Measured, RunPlan, RunState
from bench.records.store import CampaignFolder, RunFolder
from bench.servers.counters import gained
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.registry import server_sets, system


class LoadRuns(Runs[CampaignFolder, RunPlan, RunFolder]):
    """Servers that were up before stay up; `keep_servers` leaves the others up too."""

    folder = CampaignFolder
    nothing, does = "measurement", "measures"

    def __init__(
        self, supervisor: Supervisor, progress: Progress = lambda _: None, *, keep_servers: bool = False
    ) -> None:
        super().__init__(supervisor, progress)
        self._keep_servers = keep_servers
        self._specs: Sequence[ServerSpec] = ()
        self._lab: Lab | None = None
        self._lab_specs: Sequence[ServerSpec] = ()
        self._peers: PeerServers | None = None
        self._ready: Readiness
        self._lab_ready: Readiness
        self._peers_ready: Readiness

    @contextmanager
    def servers(self, plans: Sequence[RunPlan]) -> Iterator[None]:
        self._specs = _sets_of(plan for plan in plans if _kind(plan) is _Kind.USUAL)
        self._lab_specs = _sets_of(plan for plan in plans if _kind(plan) is _Kind.FAULT)
        peer_specs = _sets_of(plan for plan in plans if _kind(plan) is _Kind.PEERS)
        refuse_own_servers(plans, self.supervisor)
        require_servers(self.supervisor.home, [*self._lab_specs, *peer_specs])
        with ExitStack() as up:
            up.enter_context(servers_up(self.supervisor, self._specs, self._keep_servers, self.progress))
            if self._lab_specs:
                self._lab = up.enter_context(open_lab(self.supervisor.home, self._lab_specs, self.progress))
            if peer_specs:
                self._peers = up.enter_context(peer_servers(self.supervisor.home, peer_specs, self.progress))
            yield

    def _servers_of(self, plan: RunPlan) -> tuple[Supervisor, Sequence[ServerSpec]]:
        kind = _kind(plan)
        if kind is _Kind.USUAL:
            return self.supervisor, self._specs
        if kind is _Kind.FAULT:
            assert self._lab is not None, "`servers` has opened it for these plans"
            return self._lab.supervisor, self._lab_specs
        assert self._peers is not None, "`servers` has opened them for these plans"
        return self._peers.supervisor, self._peers.specs

    def refuse_other_servers(self, folder: CampaignFolder, plans: Iterable[RunPlan]) -> None:
        self.progress("comparing the servers with those of before")
        recorded = _recorded(folder)
        first_of = {served: plan for plan in reversed(list(plans)) for served in _served(plan)}
        for served, plan in first_of.items():
            before = recorded.get(served)
            if before is None:
                continue  # no run of this system was finished, so there is nothing that the new ones could be unlike
            supervisor, specs = self._servers_of(plan)
            prepare_servers(plan, supervisor, specs)
            entry = system(served[0])
            source, endpoint = where(entry, supervisor)
            now = what_must_agree(source, engine_of(endpoint), facts_of(entry, endpoint, "before"))
            refuse_other_facts(folder.campaign.campaign_id, entry.title, before, now)

    def play(self, folder: CampaignFolder, plans: Sequence[RunPlan], finish: Callable[[RunPlan], None]) -> None:
        with ExitStack() as all_ready:
            ready = readiness(folder, self.supervisor, self._specs, self.progress)
            self._ready = all_ready.enter_context(ready)
            if self._lab is not None:
                of_the_lab = readiness(folder, self._lab.supervisor, self._lab_specs, self.progress)
                self._lab_ready = all_ready.enter_context(of_the_lab)
            if self._peers is not None:
                of_peers = readiness(folder, self._peers.supervisor, self._peers.specs, self.progress)
                self._peers_ready = all_ready.enter_context(of_peers)
            for plan in plans:
                finish(plan)

    def measure(self, plan: RunPlan, run: RunFolder) -> Measured:
        self.progress(f"{plan.system}, {plan.workload.title}, repetition {plan.repetition}")
        if plan.workload.has_fault:
            return self._measure_with_fault(plan, run)
        ready = (self._peers_ready if plan.workload.has_peer_network else self._ready).of(plan)
        supervisor, _ = self._servers_of(plan)
        with self._peer_network_of(plan) as peers, network_of(plan, supervisor) as network:
            before = server_view(plan.system, supervisor)
            measured = run_load(
                plan,
                run,
                supervisor,
                placement=ready.placement,
                view=lambda: server_view(plan.system, supervisor),
                lines=network.lines if network else None,
                peer_lines=peers.lines if peers else None,
                only_at=peers.asked_at if peers else (),
            )
            view = gained(before, server_view(plan.system, supervisor))
            networks = {
                "network": network.measured(measured) if network else None,
                "peer_network": peers.measured_between(measured) if peers else None,
                "traffic": traffic_of(plan, supervisor, network, peers, self.progress) if network else None,
            }
        return measured.model_copy(update={"server_view": view, "warmed": ready.warmed, **networks})

    def _peer_network_of(self, plan: RunPlan) -> AbstractContextManager[EmulatedPeers | None]:
        return nullcontext(None) if self._peers is None else self._peers.network_of(plan)

    def _measure_with_fault(self, plan: RunPlan, run: RunFolder) -> Measured:
        """What the servers count of themselves is not asked: some of them begin anew, others cannot answer."""
        spec = system(plan.system).servers
        assert self._lab is not None, "`servers` has opened it for these plans"
        assert spec is not None, "a system without servers has no fault"
        ready = self._lab_ready.of(plan)
        servers = self._lab.servers(spec.name)
        supervisor = self._lab.supervisor
        with (
            _mended(servers),
            network_of(plan, supervisor) as network,
            Striking(plan, servers, run.log_path, ready.placement.servers) as striking,
        ):
            measured = run_load(
                plan,
                run,
                supervisor,
                placement=ready.placement,
                lines=network.lines if network else None,
                interference=striking,
            )
            crossed = network.measured(measured) if network else None
        return measured.model_copy(update={"warmed": ready.warmed, "network": crossed})

    def phase_of(self, failure: Exception) -> str:
        return "load" if isinstance(failure, LoadFailed) else "servers"

    def check(self, plan: RunPlan, run: RunFolder) -> str:
        # Of events that cannot be read StoreError tells: then the measurement stays. Whether it may be believed nobody
        # knows, and nothing here may throw it away.
        checked = check_run(plan, run.measured, run.events_path)
        run.write(checked)
        return "; ".join(check.message for check in checked.checks if not check.passed)


def _sets_of(plans: Iterable[RunPlan]) -> Sequence[ServerSpec]:
    return server_sets(entry for plan in plans for entry in systems_behind(plan))


@contextmanager
def _mended(servers: LabServers) -> Iterator[None]:
    """The next run finds them as this one did, also where this one failed. An interruption ends them instead."""
    try:
        yield
    except LockbenchError:
        servers.mend()
        raise
    servers.mend()


def what_must_agree(source: str, engine: str, facts: Facts) -> dict[str, str]:
    """Of a system's servers. Not their identity: private servers are made anew for each campaign."""
    durability = {f"durability {name}": value for name, value in facts.durability.items() if name not in WHICH_MEMBER}
    return {"source": source, "engine": engine, "version": facts.version, "nodes": str(facts.nodes), **durability}


class _Kind(StrEnum):
    """Which servers of its system a run has."""

    USUAL = auto()
    FAULT = auto()  # the lab's
    PEERS = auto()  # those with delay lines between them


def _kind(plan: RunPlan) -> _Kind:
    if plan.workload.has_fault:
        return _Kind.FAULT
    return _Kind.PEERS if plan.workload.has_peer_network else _Kind.USUAL


_Served = tuple[str, _Kind]  # a system, and which of its servers


def _served(plan: RunPlan) -> Sequence[_Served]:
    """Whose servers a run has: its system's first, and of jobs those that keep the records."""
    return [(entry.name, _kind(plan)) for entry in systems_behind(plan)]


def _recorded(folder: CampaignFolder) -> dict[_Served, dict[str, str]]:
    """What the servers said before the first finished run of each."""
    found: dict[_Served, dict[str, str]] = {}
    for run in folder.runs():
        if run.state not in (RunState.MEASURED, RunState.CHECKED) or found.keys() >= set(_served(run.plan)):
            continue
        measured, kind = run.measured, _kind(run.plan)
        engine = measured.capabilities.get("engine", "")
        found.setdefault((run.plan.system, kind), what_must_agree(measured.source, engine, measured.facts_before))
        if (kept := measured.records_servers) is not None:
            found.setdefault((kept.system, kind), what_must_agree(kept.source, "", kept.facts_before))
    return found
