"""A scenario of the hazard lab, step by step, on the model: what `bench/hazards/stage.py` does on real servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.resources.base import Presented, Rule
from bench.hazards.scenario import Scenario, ScenarioError, Step, duration_ms, filled
from bench.records.hazards import FaultWindow, Scalar, Trial
from bench.simulator.actor import Actor, Request
from bench.simulator.kinds import kind_of
from bench.simulator.scene import NotModelled, Over, Scene
from bench.simulator.world import NS_PER_MS

_STEP_NS = NS_PER_MS  # what the stage takes from one step to the next
_ANSWERS_WITHIN_NS = 20_000 * NS_PER_MS
_VERBS = ("acquire", "contend", "read", "write", "check", "renew", "release")
_DURATIONS = {"wait": "timeout_ns", "watchdog": "watchdog_ns"}
_OF_FAULTS = {"for": "for_ms", "by": "by_ms", "delay": "delay_ms"}
_FORGETFUL = ("own", "none")  # ways to keep data that are the system's own, or none


class NotAsStaged(LockbenchError):
    """A step went otherwise than the scenario staged it."""


@dataclass(frozen=True, slots=True)
class Played:
    """A trial, and what was not as staged."""

    trial: Trial
    staging: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Open:
    kind: str
    target: str
    began_ns: int
    over: Over
    amount: float | None


def play(scenario: Scenario, values: Mapping[str, Scalar], recorded: Mapping[str, Scalar]) -> Played:
    """One trial. `values` are all of its parameters, the system among them; `recorded` go into its record.

    Raises NotModelled for a scenario that has what the model has not.
    """
    return _Play(scenario, values).play(recorded)


def unmodelled(scenario: Scenario, values: Mapping[str, Scalar]) -> tuple[str, ...]:
    """What of a scenario the model does not know, with these parameters; empty: it can be played."""
    return tuple(dict.fromkeys(_unmodelled(scenario, values, scenario.steps)))


def _unmodelled(scenario: Scenario, values: Mapping[str, Scalar], steps: Sequence[Step]) -> Iterator[str]:
    if str(filled(scenario.resource, values)).endswith("-transaction"):
        yield "a resource that is written in the lock's own transaction"
    if any(part.suspension_uncounted for part in scenario.actors.values()):
        yield "a clock that does not count a suspension"
    if set(scenario.server_variant) - {"durability"}:
        yield "a variant of the servers"
    for step in (one for outer in steps for one in outer.all_steps):
        if not step.applies(values):
            continue
        if step.kind == "actor" and step.arguments["do"] not in _VERBS:
            yield f"the verb {step.arguments['do']}"
        if step.kind == "fault" and step.subject != "stall" and not hasattr(Scene, f"strike_{step.subject}"):
            yield f"the fault {step.subject}"


class _Play:
    def __init__(self, scenario: Scenario, values: Mapping[str, Scalar]) -> None:
        if unknown := unmodelled(scenario, values):
            raise NotModelled(f"not modelled: {', '.join(unknown)}")
        self._scenario, self._values = scenario, values
        self._ttl_ns = int(values["ttl_ms"]) * NS_PER_MS
        durability = str(values.get("durability", "own"))
        self._scene = Scene(
            kind_of(str(values["system"])),
            self._ttl_ns,
            fence=bool(values.get("fence", False)),
            rule=Rule(str(values.get("rule", "below"))),
            presents=values.get("presented", Presented.AT_WRITE) == Presented.BEFORE_READ,
            keeps_data=None if durability in _FORGETFUL else True,
        )
        for name, part in scenario.actors.items():
            self._scene.add(name, part.call_timeout_ms * NS_PER_MS, filled(dict(part.variant), values))
        self._world = self._scene.world
        self._asked: dict[str, list[tuple[Request, Sequence[str], str]]] = {}
        self._acquires: dict[str, int] = {}
        self._open: list[_Open] = []
        self._instants: dict[str, int] = {}
        self._outcomes: dict[str, str] = {}
        self._measures: dict[str, float] = {}
        self._notes: dict[str, str] = {}

    def play(self, recorded: Mapping[str, Scalar]) -> Played:
        staging = []
        try:
            self._carry_out(self._scenario.steps)
        except NotAsStaged as otherwise:
            staging.append(str(otherwise))
        ended_ns = self._world.now_ns
        for still in reversed(self._open[:]):
            self._finish(still)
        trial = self._scene.history.trial(
            bool(self._values.get("fence", False)),
            self._ttl_ns,
            ended_ns,
            recorded,
            measures=self._measures,
            notes=self._notes,
        )
        return Played(trial, tuple(staging))

    def _carry_out(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.applies(self._values) and step.called_for(self._outcomes):
                getattr(self, f"_{step.kind}")(step)
                if step.kind in ("actor", "fault", "end"):
                    self._world.run(self._world.now_ns + _STEP_NS)

    def _ns(self, text: Any) -> int:
        return int(duration_ms(text, self._values) * NS_PER_MS)

    # -- steps, by kind --------------------------------------------------------------------------------------------

    def _actor(self, step: Step) -> None:
        arguments = filled(dict(step.arguments), self._values)
        do = str(arguments.pop("do"))
        later, expect = bool(arguments.pop("later", False)), _listed(arguments.pop("expect", ()))
        before = str(arguments.pop("before", ""))
        actor, watchdog = self._scene.actors[step.subject], self._scenario.actors[step.subject].watchdog
        request = {_DURATIONS.get(name, name): value for name, value in arguments.items()}
        for name in set(_DURATIONS.values()) & set(request):
            request[name] = self._ns(request[name])
        if do == "acquire" and watchdog:
            request.setdefault("watchdog_ns", self._ns(watchdog))
        if do in ("acquire", "contend"):
            self._acquires[step.subject] = self._acquires.get(step.subject, 0) + 1
        asked = (actor.ask(do, **request), expect, before)
        if later:
            self._asked.setdefault(step.subject, []).append(asked)
        else:
            self._collect(step.subject, *asked)

    def _collect(self, name: str, request: Request, expect: Sequence[str], before: str) -> None:
        within_ns = request.arguments.get("timeout_ns", 0) * request.arguments.get("grants", 1) + _ANSWERS_WITHIN_NS
        if not self._world.run_while(lambda: request.answered_ns is None, self._world.now_ns + within_ns):
            raise NotAsStaged(f"{name} {request.do}: no answer")
        assert request.answered_ns is not None
        self._instants[f"{name}.{request.do}"] = request.answered_ns
        self._instants[f"{name}.{request.do}.asked"] = request.began_ns
        if request.lease_ns is not None:
            self._instants[f"{name}.lease"] = request.lease_ns
        self._outcomes[f"{name}.{request.do}"] = self._notes[f"{name}.{request.do}"] = request.outcome
        if expect and request.outcome not in expect:
            raise NotAsStaged(f"{name} {request.do}: {' or '.join(expect)} was staged, {request.outcome} came")
        if before and request.outcome == "acquired" and request.answered_ns >= self._instant(before):
            raise NotAsStaged(f"{name} {request.do}: answered after {before}")

    def _await(self, step: Step) -> None:
        name, until = step.subject, step.arguments.get("until")
        actor = self._scene.actors[name]
        if until == "asking":
            count = self._acquires.get(name, 0)
            if not self._world.run_while(lambda: actor.acquires < count, self._world.now_ns + _ANSWERS_WITHIN_NS):
                raise NotAsStaged(f"{name} has not begun to ask")
        elif until == "lost":
            self._world.run_while(lambda: actor.believes, self._world.now_ns + self._ns(step.arguments["within"]))
            if actor.belief is not None and actor.belief.until_ns is not None:
                self._instants[f"{name}.lost"] = actor.belief.until_ns
        else:
            expect = _listed(step.arguments.get("expect", ()))
            for request, own, before in self._asked.pop(name, []):
                self._collect(name, request, expect or own, before)

    def _fault(self, step: Step) -> None:
        arguments = filled(dict(step.arguments), self._values)
        target = str(arguments.pop("target", ""))
        for name in set(_OF_FAULTS) & set(arguments):
            arguments[_OF_FAULTS[name]] = duration_ms(arguments.pop(name), self._values)
        over = self._strike(step.subject, target, arguments)
        began_ns = self._instants[step.subject] = self._world.now_ns
        amount = next((float(arguments[name]) for name in ("by_ms", "percent", "delay_ms") if name in arguments), None)
        if over is None:
            self._record(step.subject, target, began_ns, None, amount)
        else:
            self._open.append(_Open(step.subject, target, began_ns, over, amount))

    def _strike(self, kind: str, target: str, arguments: Mapping[str, Any]) -> Over | None:
        if kind == "stall":
            request = self._scene.actors[target].ask("stall", for_ns=int(arguments["for_ms"] * NS_PER_MS))
            return lambda: self._collect(target, request, (), "")
        over: Over | None = getattr(self._scene, f"strike_{kind}")(target, arguments)
        return over

    def _end(self, step: Step) -> None:
        target = str(step.arguments.get("target", ""))
        for still in reversed(self._open):
            if still.kind == step.subject and target in ("", still.target):
                self._finish(still)
                return
        raise ScenarioError(f"{self._scenario.name}: {step.subject} {target} is not in force, and cannot end")

    def _finish(self, still: _Open) -> None:
        self._open.remove(still)
        still.over()
        self._instants[f"{still.kind}.end"] = self._world.now_ns
        self._record(still.kind, still.target, still.began_ns, self._world.now_ns, still.amount)

    def _record(self, kind: str, target: str, began_ns: int, ended_ns: int | None, amount: float | None) -> None:
        self._scene.history.faults.append(
            FaultWindow(
                kind=kind, target=target, began_ns=began_ns, ended_ns=ended_ns, confirmed="in the model", amount=amount
            )
        )

    def _pass(self, step: Step) -> None:
        since = step.arguments.get("since")
        start_ns = self._world.now_ns if since is None else self._instant(str(since))
        self._world.run(max(self._world.now_ns, start_ns + self._ns(step.subject)))

    def _reached(self, step: Step) -> None:
        self._wait_held(step, lambda actor: actor.client.link.replies_held)

    def _sent(self, step: Step) -> None:
        to_resource = step.arguments.get("to") == "resource"
        self._wait_held(step, lambda actor: (actor.resource_link if to_resource else actor.client.link).requests_held)

    def _wait_held(self, step: Step, held: Any) -> None:
        actor: Actor = self._scene.actors[step.subject]
        if not self._world.run_while(lambda: not held(actor), self._world.now_ns + _ANSWERS_WITHIN_NS):
            raise NotAsStaged(f"nothing of {step.subject} was held up on its way")

    def _repeat(self, step: Step) -> None:
        for _ in range(int(filled(step.subject, self._values))):
            self._carry_out(step.steps)

    def _measure(self, step: Step) -> None:
        if (answer := step.arguments.get("outcome")) is not None:
            self._measures[step.subject] = float(self._outcomes.get(answer) in _listed(step.arguments["is"]))
        elif "value" in step.arguments:
            self._measures[step.subject] = float(filled(step.arguments["value"], self._values))
        elif (end := str(step.arguments["to"])) not in self._instants and end.endswith(".lost"):
            self._measures[step.subject] = -1.0
        else:
            plus_ms = duration_ms(step.arguments.get("plus", "0 ms"), self._values)
            between_ns = self._instant(end) - self._instant(str(step.arguments["from"]))
            self._measures[step.subject] = between_ns / NS_PER_MS + plus_ms

    def _instant(self, name: str) -> int:
        if name not in self._instants:
            raise ScenarioError(f"{self._scenario.name}: nothing named {name} has happened yet")
        return self._instants[name]


def _listed(expect: Any) -> Sequence[str]:
    return [expect] if isinstance(expect, str) else [str(one) for one in expect]
