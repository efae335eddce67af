"""Hazard runs: on servers of the lab's own, one lane for each set of them, side by side, each with its judgement."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager

from bench.campaign.hazard_plans import FULL
from bench.campaign.runs import Runs
from bench.campaign.servers import Progress
from bench.hazards.actor_process import Interrupted
from bench.hazards.checker import check_history
from bench.hazards.lab.lab import Lab, open_lab, require_servers
from bench.hazards.run import carry_out, server_sets_of
from bench.hazards.scenario import Scenario, load_scenario
from bench.records.hazards import HazardHistory, HazardPlan
from bench.records.store import HazardFolder, HazardRunFolder
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import ServerSpec
from bench.systems.registry import every_server_set

# Actors mostly sleep; what they cost is their start. More lanes than this on two cores, and the waits for a processor
# show in the hazard windows.
LANES_AT_ONCE = 4


class HazardRuns(Runs[HazardFolder, HazardPlan, HazardRunFolder]):
    """Runs of one set of servers come one after the other, sets side by side. A run that uses two sets holds both.

    The lab's servers are gone afterwards, however it ends.
    """

    folder = HazardFolder
    nothing, does = "findings", "plays"

    def __init__(self, supervisor: Supervisor, progress: Progress = lambda _: None) -> None:
        super().__init__(supervisor, progress)
        self._scenarios: Mapping[str, Scenario] = {}
        self._full = False
        self._lab: Lab
        self._stop = threading.Event()
        self._telling = threading.Lock()

    @contextmanager
    def servers(self, plans: Sequence[HazardPlan]) -> Iterator[None]:
        """Only looks whether they can be had: the lab starts them when the machine has been looked at."""
        self._scenarios = {name: load_scenario(name) for name in {plan.scenario for plan in plans}}
        specs = self._specs(plans)
        self.supervisor.check_variables(specs)
        require_servers(self.supervisor.home, specs)
        yield

    def play(self, folder: HazardFolder, plans: Sequence[HazardPlan], finish: Callable[[HazardPlan], None]) -> None:
        """All of them. An exception in one lane, or in the caller's thread (Ctrl-C), brings the others to an end."""
        self._full = folder.campaign.mode == FULL
        lanes: dict[str, list[HazardPlan]] = {}
        for plan in plans:
            lanes.setdefault(next(iter(self._sets_of(plan)), ""), []).append(plan)
        turns = _Turns(name for plan in plans for name in self._sets_of(plan))
        with (
            open_lab(self.supervisor.home, self._specs(plans), self.progress) as self._lab,
            ThreadPoolExecutor(len(lanes), thread_name_prefix="lane") as pool,
        ):
            running = [pool.submit(self._lane, lane, turns, finish) for lane in lanes.values()]
            try:
                for done in wait(running, return_when=FIRST_EXCEPTION).done:
                    done.result()
            finally:
                self._stop.set()

    def _lane(self, plans: Sequence[HazardPlan], turns: "_Turns", finish: Callable[[HazardPlan], None]) -> None:
        for plan in plans:
            sets = self._sets_of(plan)
            with turns.of(sets):
                if self._stop.is_set():
                    return
                try:
                    finish(plan)
                except Interrupted:
                    return
                finally:
                    if not self._stop.is_set():  # else the lab is about to be killed: nothing in it is worth a wait
                        self._mend(sets)

    def measure(self, plan: HazardPlan, run: HazardRunFolder) -> HazardHistory:
        def tell(trial: str) -> None:
            with self._telling:
                self.progress(f"{plan.scenario}, {plan.system}{f': {trial}' if trial else ''}")

        tell("")
        with run.log_path.open("w", encoding="utf-8") as log:
            return carry_out(plan, self._scenarios[plan.scenario], self._full, self._lab, log, self._stop, tell)

    def phase_of(self, failure: Exception) -> str:
        return "staging"

    def check(self, plan: HazardPlan, run: HazardRunFolder) -> str:
        history = run.history
        try:
            checked = check_history(history, history.staging)
        except ValueError as contradiction:
            # The history is kept: it says something of the recorder, and nothing of the lock.
            return f"the history contradicts itself: {contradiction}"
        run.write(checked)
        return "; ".join(checked.staging)

    def _mend(self, sets: Sequence[str]) -> None:
        for name in sets:
            if self._lab.servers(name).broken():
                self._lab.servers(name).mend()

    def _sets_of(self, plan: HazardPlan) -> Sequence[str]:
        return server_sets_of(plan, self._scenarios[plan.scenario])

    def _specs(self, plans: Iterable[HazardPlan]) -> Sequence[ServerSpec]:
        wanted = {name for plan in plans for name in self._sets_of(plan)}
        return [spec for spec in every_server_set() if spec.name in wanted]


class _Turns:
    """Who may use which sets of servers now."""

    def __init__(self, sets: Iterable[str]) -> None:
        self._locks = {name: threading.Lock() for name in set(sets)}
        self._at_once = threading.Semaphore(LANES_AT_ONCE)

    @contextmanager
    def of(self, sets: Iterable[str]) -> Iterator[None]:
        """Have all of these alone, for a block."""
        with ExitStack() as held:
            for name in sorted(sets):  # in one order for all lanes: no two can wait for each other
                held.enter_context(self._locks[name])
            held.enter_context(self._at_once)
            yield
