"""A scenario of the hazard lab, played once on the session's servers, and shown as it happens."""

import secrets
from functools import cache
from typing import Any

from bench.campaign.live.staging.act import RESOURCE, Act, Place
from bench.campaign.live.staging.heard import shown
from bench.errors import LockbenchError
from bench.hazards.cast import Backstage, Cast
from bench.hazards.checker.overlaps import overlaps_of
from bench.hazards.checker.writes import stale_writes_of
from bench.hazards.resources.registry import host_of
from bench.hazards.scenario import Scenario, load_scenario, scenario_names
from bench.hazards.stage import Setting, Stage
from bench.hazards.timeline import now_ns
from bench.records.hazards import Scalar, Trial
from bench.records.meaning import Role


def scenarios_of(name: str) -> dict[str, str]:
    """Those that a system can play beside a load, by name, with their titles: they need no servers but the lock's, set
    up as they are, and are one trial. The first is the one to play first."""
    found = [one for one in _scenarios() if _trial_of(one, name, False)]
    return {one.name: one.title for one in sorted(found, key=lambda one: Role.FIRST not in one.meaning.roles)}


@cache
def _scenarios() -> tuple[Scenario, ...]:
    """All of them: read once, and not again for each system."""
    return tuple(map(load_scenario, scenario_names()))


def _trial_of(scenario: Scenario, system: str, fence: bool) -> tuple[dict[str, Scalar], dict[str, Scalar]] | None:
    """The last of a scenario's trials, with the fence so where it has one: all its parameters, and those in which
    trials differ. None where it cannot be played here."""
    plain = not (scenario.server_variant or scenario.search) and scenario.resource == RESOURCE
    if not plain or not scenario.can_be_played_on(system):
        return None
    found = None
    for run in scenario.combinations(scenario.quick, system):
        for trial in scenario.trials_of({**run, "system": system}, False):
            values = {**run, **trial, "system": system}
            if found is None or values.get("fence", fence) == fence:
                found = values, trial
    return found


class Play(Act):
    """One play, from its construction to its end."""

    def __init__(self, place: Place, fence: bool, scenario: str) -> None:
        self._scenario = load_scenario(scenario)
        self._stage: Stage | None = None
        self._over = False
        self._trial = Trial(name="", ttl_ms=0, began_ns=0, ended_ns=0)  # as it was reported last
        super().__init__(place, fence)

    def _report(self) -> dict[str, Any]:
        if self._stage is not None and not self._over:
            trial = self._stage.so_far()
            if len(trial.beliefs) >= len(self._trial.beliefs):  # else its actors have just been dismissed
                self._trial = trial
        trial = self._trial
        late = stale_writes_of(trial)
        counts = {
            "grants": len(trial.beliefs),
            "double_holds": len(overlaps_of(trial)),
            "stale_accepted": sum(one.accepted is True for one in late),
            "stale_refused": sum(one.accepted is False for one in late),
        }
        return {
            **shown(trial, trial.ended_ns, {(one.grant, one.order) for one in late}),
            "counts": counts,
            "actors": list(self._scenario.actors),
            "scenario": self._scenario.title,
            "ttl_ms": trial.ttl_ms,
            "ended_ago_s": round((now_ns() - trial.ended_ns) / 1e9, 3) if self._over else 0.0,
            "fault_ends_in_s": None,
        }

    def _act(self) -> None:
        self._say(" ".join(self._scenario.question.split()))
        entry, servers, stop = self._place.entry, self._place.servers, self._stopping
        found = _trial_of(self._scenario, entry.name, self.fence)
        if found is None:
            raise LockbenchError(f"{entry.name} does not play {self._scenario.name} here")
        values, differ = found
        host = host_of(RESOURCE, {})
        key = f"{self._scenario.name}-{secrets.token_hex(3)}"
        with self._place.log_path.open("a", encoding="utf-8") as log, host.hosted() as resource:
            backstage = Backstage(entry, servers.endpoint, RESOURCE, resource, log, stop.is_set)
            setting = Setting(self._scenario, entry.default_wait, servers, host, resource, stop)
            with Cast(self._scenario.actors, backstage) as cast:
                stage = self._stage = Stage(setting, cast, "live", key, values, differ)
                try:
                    played = stage.play()
                finally:  # also of one that was broken off: its faults are over, and were real
                    self._trial, self._over = stage.so_far(), True
                    for window in self._trial.faults:
                        self._place.on_fault(window)
        self._trial = played.trial
        for word in played.staging:
            self._say(f"not as staged: {word}")
        self._say("over")
