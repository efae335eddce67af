"""One hazard run: a scenario on a system with one set of parameters, all its trials, as one history."""

import itertools
import queue
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from typing import Any, TextIO

from bench.errors import LockbenchError
from bench.hazards.cast import Backstage, Cast
from bench.hazards.checker import check_trial
from bench.hazards.lab.lab import Lab
from bench.hazards.resources.registry import NEEDS, host_of
from bench.hazards.scenario import Scenario, ScenarioError, duration_ms, filled
from bench.hazards.stage import Played, Setting, Stage
from bench.records.hazards import HazardHistory, HazardPlan, Scalar
from bench.records.schema import Facts
from bench.servers.endpoint import Endpoint
from bench.systems.registry import system


def server_sets_of(plan: HazardPlan, scenario: Scenario) -> tuple[str, ...]:
    """Names of the server sets that a run uses: the lock's, and the resource's."""
    spec = system(plan.system).servers
    own = [spec.name] if spec is not None else []
    kind = str(filled(scenario.resource, plan.parameters))
    return tuple(dict.fromkeys([*own, *([NEEDS[kind]] if kind in NEEDS else [])]))


def carry_out(
    plan: HazardPlan,
    scenario: Scenario,
    full: bool,
    lab: Lab,
    log: TextIO,
    stop: threading.Event,
    progress: Callable[[str], None] = lambda _: None,
) -> HazardHistory:
    """Play every trial of a run. Raises Interrupted, LockbenchError; no actor and no fault outlives the call."""
    entry = system(plan.system)
    servers = lab.servers(entry.servers.name) if entry.servers is not None else None
    kind = str(filled(scenario.resource, plan.parameters))
    if servers is not None:
        servers.configure({**entry.server_variant, **_server_variant(scenario, plan)})
    host = host_of(kind, {name: lab.servers(name).endpoint for name in server_sets_of(plan, scenario)})
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    with host.hosted() as place:
        endpoint = servers.endpoint if servers is not None else Endpoint(())
        backstage = Backstage(entry, endpoint, kind, place, log, stop.is_set)
        setting = Setting(scenario, entry.default_wait, servers, host, place, stop)
        trials = _Trials(plan, scenario, full, setting, backstage, progress)
        played = trials.play()
        facts = trials.facts
    return HazardHistory(
        started_at=started_at,
        trials=tuple(one.trial for one in played),
        facts=facts,
        source="native" if servers is not None else "none",
        capabilities=entry.client_class.capabilities.texts(),
        tags=entry.tags,
        staging=tuple(f"trial {one.trial.name}: {word}" for one in played for word in one.staging),
    )


class _Trials:
    """The trials of one run, `side_by_side` of them at a time, each with a cast of its own."""

    def __init__(
        self,
        plan: HazardPlan,
        scenario: Scenario,
        full: bool,
        setting: Setting,
        backstage: Backstage,
        progress: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._scenario = scenario
        self._setting = setting
        self._backstage = backstage
        self._progress = progress
        self._combinations = scenario.trials_of({**plan.parameters, "system": plan.system}, full)
        if not self._combinations:
            raise ScenarioError(f"{scenario.name} has no trial for {plan.system}: see `where` in its file")
        self._names = map(str, itertools.count(1))
        self.facts: Facts | None = None

    def play(self) -> list[Played]:
        """All of them, in the order of their combinations."""
        waiting: queue.SimpleQueue[tuple[int, dict[str, Scalar]]] = queue.SimpleQueue()
        for item in enumerate(self._combinations):
            waiting.put(item)
        played: dict[int, list[Played]] = {}
        over = threading.Event()

        def work() -> None:
            with Cast(self._scenario.actors, self._backstage) as cast:
                while not over.is_set():  # a run of which one trial is missing has no history
                    try:
                        index, combination = waiting.get_nowait()
                    except queue.Empty:
                        return
                    played[index] = list(self._of_combination(cast, combination))

        workers = min(self._scenario.side_by_side, len(self._combinations))
        # An actor dies with the thread that started it: the thread that plays a trial is the one that cast it.
        with ThreadPoolExecutor(workers) as pool:
            try:
                for ended in as_completed([pool.submit(work) for _ in range(workers)]):
                    ended.result()
            finally:
                over.set()
        return [one for index in sorted(played) for one in played[index]]

    def _of_combination(self, cast: Cast, combination: dict[str, Scalar]) -> Iterator[Played]:
        search = self._scenario.search
        if search is None:
            yield self._one(cast, combination)
            return
        values = {**self._plan.parameters, **combination}
        low = search.low
        high, grain = _whole(search.high, values), max(1, _whole(search.grain, values))
        # The invariant of the halving: `high` breaks the lock and everything up to `low - 1` was not seen to.
        highest = self._searched(cast, combination, high)
        yield highest
        if highest.staging or not _breaks(highest):
            return
        while high - low >= grain:
            middle = (low + high) // 2
            tried = self._searched(cast, combination, middle)
            yield tried
            if tried.staging:
                return
            low, high = (low, middle) if _breaks(tried) else (middle + 1, high)

    def _searched(self, cast: Cast, combination: dict[str, Scalar], value: int) -> Played:
        """One value of the search. What a busy machine spoilt is no answer: it is staged anew, and that is counted."""
        search = self._scenario.search
        assert search is not None
        staged_anew = 0
        while (
            played := self._one(cast, {**combination, search.parameter: value})
        ).staging and staged_anew < search.again:
            staged_anew += 1
        played.trial.measures["staged_anew"] = float(staged_anew)
        return played

    def _one(self, cast: Cast, combination: dict[str, Scalar]) -> Played:
        name = next(self._names)
        self._progress(", ".join(f"{key} {value}" for key, value in combination.items()) or "one trial")
        values = {**self._plan.parameters, **combination, "system": self._plan.system}
        # Of this attempt alone: what an interrupted one left to run out must not stand in its way.
        key = f"{self._plan.run_id}-{name}-{secrets.token_hex(3)}"
        stage = Stage(self._setting, cast, name, key, values, combination)
        played = stage.play()
        if self.facts is None:
            self.facts = self._asked_for_facts(cast)
        return played

    def _asked_for_facts(self, cast: Cast) -> Facts | None:
        if self._setting.servers is None:
            return None
        for name in cast.names:
            if cast.actor(name).alive:
                answer: Mapping[str, Any] = cast.ask(name, "facts")
                if answer["outcome"] == "told":
                    return Facts(**answer["facts"])
        return None


def _server_variant(scenario: Scenario, plan: HazardPlan) -> dict[str, str]:
    variant = {name: str(filled(value, plan.parameters)) for name, value in scenario.server_variant.items()}
    return {name: value for name, value in variant.items() if value not in ("none", "own")}


def _whole(length: int | str, values: Mapping[str, Scalar]) -> int:
    return length if isinstance(length, int) else int(duration_ms(length, values))


def _breaks(played: Played) -> bool:
    try:
        return bool(check_trial(played.trial).overlaps)
    except ValueError as contradiction:
        raise LockbenchError(f"the history contradicts itself: {contradiction}") from contradiction
