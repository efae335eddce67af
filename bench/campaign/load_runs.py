"""Runs of load: on the user's servers or our own, one at a time, each with its self-checks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from bench.analysis.runs import WHICH_MEMBER
from bench.analysis.selfchecks import check_run
from bench.campaign.readiness import Readiness, prepare_servers, readiness
from bench.campaign.runs import Runs
from bench.campaign.same_experiment import refuse_other_facts
from bench.campaign.servers import Progress, server_view, servers_up
from bench.load.runner import LoadFailed, engine_of, facts_of, run_load, systems_behind, where
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
        self._ready: Readiness

    @contextmanager
    def servers(self, plans: Sequence[RunPlan]) -> Iterator[None]:
        self._specs = server_sets(entry for plan in plans for entry in systems_behind(plan))
        with servers_up(self.supervisor, self._specs, self._keep_servers, self.progress):
            yield

    def refuse_other_servers(self, folder: CampaignFolder, plans: Iterable[RunPlan]) -> None:
        self.progress("comparing the servers with those of before")
        recorded = _recorded(folder)
        first_of = {plan.system: plan for plan in reversed(list(plans))}
        for name, plan in first_of.items():
            before = recorded.get(name)
            if before is None:
                continue  # no run of this system was finished, so there is nothing that the new ones could be unlike
            prepare_servers(plan, self.supervisor, self._specs)
            entry = system(name)
            source, endpoint = where(entry, self.supervisor)
            now = what_must_agree(source, engine_of(endpoint), facts_of(entry, endpoint, "before"))
            refuse_other_facts(folder.campaign.campaign_id, entry.title, before, now)

    def play(self, folder: CampaignFolder, plans: Sequence[RunPlan], finish: Callable[[RunPlan], None]) -> None:
        with readiness(folder, self.supervisor, self._specs, self.progress) as self._ready:
            for plan in plans:
                finish(plan)

    def measure(self, plan: RunPlan, run: RunFolder) -> Measured:
        self.progress(f"{plan.system}, {plan.workload.title}, repetition {plan.repetition}")
        ready = self._ready.of(plan)
        before = server_view(plan.system, self.supervisor)
        measured = run_load(
            plan,
            run,
            self.supervisor,
            placement=ready.placement,
            view=lambda: server_view(plan.system, self.supervisor),
        )
        view = gained(before, server_view(plan.system, self.supervisor))
        return measured.model_copy(update={"server_view": view, "warmed": ready.warmed})

    def phase_of(self, failure: Exception) -> str:
        return "load" if isinstance(failure, LoadFailed) else "servers"

    def check(self, plan: RunPlan, run: RunFolder) -> str:
        # Of events that cannot be read StoreError tells: then the measurement stays. Whether it may be believed nobody
        # knows, and nothing here may throw it away.
        checked = check_run(plan, run.measured, run.events_path)
        run.write(checked)
        return "; ".join(check.message for check in checked.checks if not check.passed)


def what_must_agree(source: str, engine: str, facts: Facts) -> dict[str, str]:
    """Of a system's servers. Not their identity: private servers are made anew for each campaign."""
    durability = {f"durability {name}": value for name, value in facts.durability.items() if name not in WHICH_MEMBER}
    return {"source": source, "engine": engine, "version": facts.version, "nodes": str(facts.nodes), **durability}


def _recorded(folder: CampaignFolder) -> dict[str, dict[str, str]]:
    """By system, what the servers said before the first of its finished runs."""
    found: dict[str, dict[str, str]] = {}
    for run in folder.runs():
        if run.state in (RunState.MEASURED, RunState.CHECKED) and run.plan.system not in found:
            measured = run.measured
            engine = measured.capabilities.get("engine", "")
            found[run.plan.system] = what_must_agree(measured.source, engine, measured.facts_before)
    return found
