"""Carrying out hazard runs: one lane for each set of servers, side by side; every folder true at every instant."""

import errno
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass

from bench.campaign.hazard_plans import FULL
from bench.campaign.servers import Progress
from bench.errors import LockbenchError
from bench.hazards.actor_process import Interrupted
from bench.hazards.checker import check_history
from bench.hazards.lab.lab import Lab, open_lab, require_servers
from bench.hazards.run import carry_out, server_sets_of
from bench.hazards.scenario import Scenario, load_scenario
from bench.records.environment import capture_environment
from bench.records.hazards import HazardCampaign, HazardPlan
from bench.records.schema import Failed, RunState
from bench.records.store import HazardFolder, HazardRunFolder, Store, StoreError
from bench.servers.spec import ServerSpec
from bench.servers.state import exclusive
from bench.servers.supervisor import Supervisor
from bench.systems.registry import every_server_set, packages_of

# Actors mostly sleep; what they cost is their start. More lanes than this on two cores, and the waits for a processor
# show in the hazard windows.
LANES_AT_ONCE = 4
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class HazardsIncomplete(LockbenchError):
    """Some runs have no findings; the finished ones are kept."""


@dataclass(frozen=True, slots=True)
class HazardRunEnd:
    """How one run ended, for whoever shows progress."""

    plan: HazardPlan
    state: RunState
    note: str


def run_hazards(
    campaign: HazardCampaign,
    store: Store,
    supervisor: Supervisor,
    *,
    progress: Progress = lambda _: None,
    on_run_end: Callable[[HazardRunEnd], None] = lambda _: None,
) -> HazardFolder:
    """Carry out a hazard campaign on servers of the lab's own, which are gone afterwards, however it ends.

    Raises ServersError before anything is written where a server's program is missing, and HazardsIncomplete at the
    end when a run failed; later runs still ran.
    """
    with exclusive(supervisor.home, "campaign"):
        store.require_room(campaign.campaign_id)
        specs = _server_specs(campaign.runs, _scenarios_of(campaign.runs))
        supervisor.check_variables(specs)
        require_servers(supervisor.home, specs)
        progress("looking at this machine")
        machine = capture_environment(supervisor.home, packages_of(plan.system for plan in campaign.runs))
        folder = store.start_hazards(campaign, machine)
        with folder.held():
            return finish_hazards(folder, campaign.runs, supervisor, progress, on_run_end)


def finish_hazards(
    folder: HazardFolder,
    plans: Iterable[HazardPlan],
    supervisor: Supervisor,
    progress: Progress,
    on_run_end: Callable[[HazardRunEnd], None],
) -> HazardFolder:
    """Bring these runs to their end, whatever their state; none of them is checked yet."""
    left = list(plans)
    scenarios = _scenarios_of(left)
    failed: list[HazardRunEnd] = []

    def ended(end: HazardRunEnd) -> None:
        on_run_end(end)
        if end.state is not RunState.CHECKED:
            failed.append(end)

    with open_lab(supervisor.home, _server_specs(left, scenarios), progress) as lab:
        _Lanes(folder, lab, scenarios, progress, ended).play(left)
    if failed:
        first, campaign = failed[0], folder.campaign
        raise HazardsIncomplete(
            f"{len(failed)} of {len(campaign.runs)} runs have no findings; the others are kept in {folder.path}. "
            f"The first: {first.plan.run_id}: {first.note}. Its log: {folder.run(first.plan.run_id).log_path}. "
            f"`lockbench hazard run --resume {campaign.campaign_id}` plays what is missing"
        )
    return folder


def _scenarios_of(plans: Iterable[HazardPlan]) -> Mapping[str, Scenario]:
    return {name: load_scenario(name) for name in {plan.scenario for plan in plans}}


def _server_specs(plans: Iterable[HazardPlan], scenarios: Mapping[str, Scenario]) -> Sequence[ServerSpec]:
    wanted = {name for plan in plans for name in server_sets_of(plan, scenarios[plan.scenario])}
    return [spec for spec in every_server_set() if spec.name in wanted]


class _Lanes:
    """Runs of one set of servers come one after the other, sets side by side. A run that uses two sets holds both."""

    def __init__(
        self,
        folder: HazardFolder,
        lab: Lab,
        scenarios: Mapping[str, Scenario],
        progress: Progress,
        on_run_end: Callable[[HazardRunEnd], None],
    ) -> None:
        self._folder = folder
        self._full = folder.campaign.mode == FULL
        self._lab = lab
        self._scenarios = scenarios
        self._progress = progress
        self._on_run_end = on_run_end
        self._stop = threading.Event()
        self._telling = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._at_once = threading.Semaphore(LANES_AT_ONCE)

    def play(self, plans: Sequence[HazardPlan]) -> None:
        """All of them. An exception in one lane, or in the caller's thread (Ctrl-C), brings the others to an end."""
        lanes: dict[str, list[HazardPlan]] = {}
        for plan in plans:
            sets = server_sets_of(plan, self._scenarios[plan.scenario])
            self._locks.update({name: threading.Lock() for name in sets if name not in self._locks})
            lanes.setdefault(sets[0] if sets else "", []).append(plan)
        with ThreadPoolExecutor(len(lanes), thread_name_prefix="lane") as pool:
            running = [pool.submit(self._lane, lane) for lane in lanes.values()]
            try:
                for done in wait(running, return_when=FIRST_EXCEPTION).done:
                    done.result()
            finally:
                self._stop.set()

    def _lane(self, plans: Sequence[HazardPlan]) -> None:
        for plan in plans:
            sets = sorted(server_sets_of(plan, self._scenarios[plan.scenario]))
            with ExitStack() as held:
                for name in sets:  # in one order for all lanes: no two can wait for each other
                    held.enter_context(self._locks[name])
                held.enter_context(self._at_once)
                if self._stop.is_set():
                    return
                try:
                    end = self._finish(plan, sets)
                except Interrupted:
                    return
            with self._telling:
                self._on_run_end(end)

    def _finish(self, plan: HazardPlan, sets: Sequence[str]) -> HazardRunEnd:
        state = self._folder.state_of(plan)
        if state is RunState.MEASURED:
            return _check(plan, self._folder.run(plan.run_id))
        if state is not None:
            self._folder.set_aside(plan)
        self._tell(plan, "")
        run = self._folder.start_run(plan)
        scenario = self._scenarios[plan.scenario]
        try:
            with run.log_path.open("w", encoding="utf-8") as log:
                history = carry_out(
                    plan, scenario, self._full, self._lab, log, self._stop, lambda trial: self._tell(plan, trial)
                )
        except LockbenchError as failure:
            run.write(Failed(phase="staging", reason=str(failure)))
            return HazardRunEnd(plan, run.state, str(failure))
        except OSError as refused:
            if refused.errno not in _DISK_FULL:
                raise
            raise StoreError(f"cannot write {run.log_path}: {refused.strerror}. Free space, then resume") from refused
        else:
            run.write(history)
            return _check(plan, run)
        finally:
            if not self._stop.is_set():  # else the lab is about to be killed: nothing in it is worth a wait
                self._mend(sets)

    def _mend(self, sets: Sequence[str]) -> None:
        for name in sets:
            if self._lab.servers(name).broken():
                self._lab.servers(name).mend()

    def _tell(self, plan: HazardPlan, trial: str) -> None:
        with self._telling:
            self._progress(f"{plan.scenario}, {plan.system}{f': {trial}' if trial else ''}")


def _check(plan: HazardPlan, run: HazardRunFolder) -> HazardRunEnd:
    history = run.history
    try:
        checked = check_history(history, history.staging)
    except ValueError as contradiction:
        # The history is kept: it says something of the recorder, and nothing of the lock.
        return HazardRunEnd(plan, run.state, f"the history contradicts itself: {contradiction}")
    run.write(checked)
    return HazardRunEnd(plan, run.state, "; ".join(checked.staging))
