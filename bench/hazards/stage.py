"""The stage: one trial of a scenario, step by step, from the first actor's session to the assembled history."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from bench.errors import LockbenchError
from bench.hazards.actor_process import ActorFailed, Interrupted, Message
from bench.hazards.cast import ANSWERS_WITHIN_S, Cast
from bench.hazards.clocks.refusal import CannotStep
from bench.hazards.faults.base import InForce, Scene
from bench.hazards.faults.registry import FAULTS
from bench.hazards.history import asks_of, beliefs_of, presentations_of, writes_of
from bench.hazards.lab.servers import LabServers
from bench.hazards.resources.base import Judged, Place, ResourceHost, ResourceUnreachable
from bench.hazards.scenario import Scenario, ScenarioError, Step, duration_ms, filled
from bench.hazards.timeline import now_ns
from bench.records.hazards import FaultWindow, Scalar, Trial

# Arguments of steps that are durations, and what they are called when they are handed on in milliseconds.
_DURATIONS = {
    "wait": "timeout_ms", "watchdog": "watchdog_ms", "for": "for_ms", "hold": "hold_ms", "by": "by_ms",
    "delay": "delay_ms",
}  # fmt: skip


class ResourceLost(LockbenchError):
    """The resource's log cannot be read, so nobody can say which writes were accepted: there is no history."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all trials of a run have in common."""

    scenario: Scenario
    default_wait: str
    servers: LabServers | None
    host: ResourceHost
    place: Place
    stop: threading.Event  # set when someone asked for an end


@dataclass(slots=True)
class _Asked:
    """A request that was not waited for."""

    number: int
    do: str
    within_s: float
    expect: Sequence[str]
    before: str = ""


@dataclass(slots=True)
class _Open:
    """A fault that is in force."""

    kind: str
    target: str
    in_force: InForce


@dataclass(slots=True)
class Played:
    """A trial, and what was not as staged."""

    trial: Trial
    staging: list[str] = field(default_factory=list)


class Stage:
    """One trial. `values` are all parameters of it, the system included; `recorded` those that go into its record."""

    def __init__(
        self,
        setting: Setting,
        cast: Cast,
        name: str,
        key: str,
        values: Mapping[str, Scalar],
        recorded: dict[str, Scalar],
    ) -> None:
        self._setting = setting
        self._cast = cast
        self._name = name
        self._key = key
        self._values = values
        self._recorded = recorded
        self._notes: dict[str, str] = {}
        self._measures: dict[str, float] = {}
        self._scene = Scene(cast, setting.servers, key, values, self._notes, self._measures)
        self._staging: list[str] = []
        self._asked: dict[str, list[_Asked]] = {}
        self._open: list[_Open] = []
        self._faults: list[FaultWindow] = []
        self._instants: dict[str, int] = {}
        self._outcomes: dict[str, str] = {}  # of the last answer to each verb, as `actor.verb`
        self._never: set[str] = set()  # instants that were waited for, and did not come
        self._killed_ns: dict[str, int] = {}
        self._acquires: dict[str, int] = {}  # by actor: how many were asked for
        self._began_ns = 0

    def play(self) -> Played:
        """Carry out every step. Whatever happens, no fault is in force when this returns or raises.

        A step that goes otherwise than staged ends the trial, which tells so. Raises Interrupted; LockbenchError when
        there is no trial to tell of.
        """
        self._cast.complete()
        self._cast.open(self._values)
        for name in self._cast.names:
            self._cast.actor(name).take_messages()
            self._cast.ask(
                name,
                "begin",
                key=self._key,
                fence=bool(self._values.get("fence", False)),
                rule=str(self._values.get("rule", "below")),
                presented=str(self._values.get("presented", "at_write")),
            )
        self._began_ns = now_ns()
        try:
            self._carry_out(self._setting.scenario.steps)
        except (ActorFailed, CannotStep) as failure:  # void, with the reason: other scenarios can be staged here
            self._staging.append(str(failure))
        finally:
            # What actors say while the last faults are taken back is of no trial any more.
            messages = {name: self._cast.actor(name).heard for name in self._cast.names}
            ended_ns = now_ns()
            with ExitStack() as every:  # each is ended, also after another would not; the last to strike comes first
                for still in self._open:
                    every.callback(self._put_right, still)
        return Played(self._assembled(ended_ns, messages, self._log()), self._staging)

    def so_far(self) -> Trial:
        """The trial while it is played, from another thread: faults that are in force have no end, and a write whose
        answer has not come has no verdict. Empty before it has begun."""
        if not self._began_ns:
            now = now_ns()
            return Trial(name=self._name, ttl_ms=self._ttl_ms, began_ns=now, ended_ns=now)
        messages = {name: self._cast.actor(name).heard for name in self._cast.names}
        trial = self._assembled(now_ns(), messages, ())
        open_ones = tuple(_window(still, None) for still in self._open.copy())
        return trial.model_copy(update={"faults": (*trial.faults, *open_ones)})

    def _carry_out(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if step.applies(self._values) and step.called_for(self._outcomes):
                getattr(self, f"_{step.kind}")(step)

    @property
    def _ttl_ms(self) -> int:
        return int(self._values["ttl_ms"])

    # -- steps, by kind --------------------------------------------------------------------------------------------

    def _actor(self, step: Step) -> None:
        arguments = filled(dict(step.arguments), self._values)
        do = str(arguments.pop("do"))
        later, expect = bool(arguments.pop("later", False)), _listed(arguments.pop("expect", ()))
        before = str(arguments.pop("before", ""))
        request = self._request(do, step.subject, arguments)
        allowed_s = float(request.get("timeout_ms", 0)) * max(1, int(request.get("grants", 1))) / 1000.0
        allowed_s += float(request.get("for_ms", 0.0)) / 1000.0 + ANSWERS_WITHIN_S
        number = self._cast.actor(step.subject).send(do, **request)
        asked = _Asked(number, do, allowed_s, expect, before)
        if later:
            self._asked.setdefault(step.subject, []).append(asked)
        else:
            self._collect(step.subject, asked)

    def _request(self, do: str, actor: str, arguments: dict[str, Any]) -> dict[str, Any]:
        request = self._in_ms(arguments)
        if do in ("acquire", "contend"):
            self._acquires[actor] = self._acquires.get(actor, 0) + 1
            waits = "timeout_ms" in request
            request["timeout_ms"] = int(request.get("timeout_ms", 0))
            request["ttl_ms"] = self._ttl_ms
            request["wait"] = self._setting.default_wait if waits else "try"
        watchdog = self._setting.scenario.actors[actor].watchdog
        if do == "acquire" and watchdog:
            request.setdefault("watchdog_ms", duration_ms(watchdog, self._values))
        return request

    def _in_ms(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            _DURATIONS.get(name, name): duration_ms(value, self._values) if name in _DURATIONS else value
            for name, value in arguments.items()
        }

    def _collect(self, actor: str, asked: _Asked) -> Message:
        answer = self._cast.collect(actor, asked.number, asked.within_s)
        outcome = str(answer["outcome"])
        self._instants[f"{actor}.{asked.do}"] = answer["answered_ns"]
        self._instants[f"{actor}.{asked.do}.asked"] = answer["began_ns"]
        self._outcomes[f"{actor}.{asked.do}"] = outcome
        if answer.get("lease_until_ns") is not None:
            self._instants[f"{actor}.lease"] = answer["lease_until_ns"]
        self._notes[f"{actor}.{asked.do}"] = outcome if not answer.get("reason") else f"{outcome}: {answer['reason']}"
        if asked.expect and outcome not in asked.expect:
            wanted = " or ".join(asked.expect)
            raise ActorFailed(f"{actor} {asked.do}: {wanted} was staged, {self._notes[f'{actor}.{asked.do}']} came")
        if asked.before and outcome == "acquired":
            late_ms = (answer["answered_ns"] - self._instant(asked.before)) / 1e6
            if late_ms >= 0:
                raise ActorFailed(f"{actor} {asked.do}: answered {late_ms:.1f} ms after {asked.before}")
        return answer

    def _await(self, step: Step) -> None:
        if (until := step.arguments.get("until")) is not None:
            self._await_until(step.subject, str(until), step.arguments.get("within"))
            return
        expect = _listed(step.arguments.get("expect", ()))
        for asked in self._asked.pop(step.subject, []):
            self._collect(step.subject, replace(asked, expect=expect) if expect else asked)

    def _await_until(self, actor: str, until: str, within: Any) -> None:
        """Until the actor has said something of itself, which is not the answer to a request."""
        if until == "asking":
            count, within_s = self._acquires.get(actor, 0), ANSWERS_WITHIN_S
            if count == 0:
                raise ScenarioError(f"{self._setting.scenario.name}: {actor} has no acquire, and never asks")
            if self._cast.wait_said(actor, "asking", count, within_s) is None:
                raise ActorFailed(f"{actor} has not begun to ask within {within_s:g} s")
            return
        if until != "lost":
            raise ScenarioError(f"{self._setting.scenario.name}: an actor is awaited until asking or lost, not {until}")
        within_s = duration_ms(within, self._values) / 1000.0
        ended = self._cast.wait_said(actor, "ended", 1, within_s)
        if ended is None:
            self._never.add(f"{actor}.lost")
        else:
            self._instants[f"{actor}.lost"] = ended["at_ns"]
            self._notes[f"{actor}.lost"] = f"{ended['by']}: {ended['reason']}"

    def _fault(self, step: Step) -> None:
        arguments = filled(dict(step.arguments), self._values)
        target = str(arguments.pop("target", ""))
        strike = FAULTS.get(step.subject)
        if strike is None:
            raise ScenarioError(f"no fault {step.subject!r}: choose from {', '.join(FAULTS)}")
        in_force = strike(self._scene, target, self._in_ms(arguments))
        self._instants[step.subject] = in_force.began_ns
        if step.subject == "kill":
            self._killed_ns[target] = in_force.began_ns
        struck = _Open(step.subject, in_force.target or target, in_force)
        if in_force.over is None:
            self._faults.append(_window(struck, None))
        else:
            self._open.append(struck)
        self._cast.log(f"trial {self._name}: {struck.kind} of {struck.target} in force: {in_force.confirmed}")

    def _end(self, step: Step) -> None:
        target = str(step.arguments.get("target", ""))
        for still in reversed(self._open[:]):
            if still.kind == step.subject and target in ("", still.target):
                self._finish(still)
                return
        raise ScenarioError(f"{self._setting.scenario.name}: {step.subject} {target} is not in force, and cannot end")

    def _put_right(self, still: _Open) -> None:
        try:
            self._finish(still)
        except ActorFailed as failure:
            self._staging.append(str(failure))

    def _finish(self, still: _Open) -> None:
        self._open.remove(still)
        assert still.in_force.over is not None
        ended_ns = still.in_force.over()
        self._cast.log(f"trial {self._name}: {still.kind} of {still.target} over")
        self._instants[f"{still.kind}.end"] = ended_ns
        self._faults.append(_window(still, ended_ns))

    def _pass(self, step: Step) -> None:
        since = step.arguments.get("since")
        start_ns = now_ns() if since is None else self._instant(str(since))
        until_ns = start_ns + int(duration_ms(step.subject, self._values) * 1e6)
        # Not a wait for an event: the length of the fault, or of a lease, is what the scenario is about.
        while (left_ns := until_ns - now_ns()) > 0:
            if self._setting.stop.wait(left_ns / 1e9):
                raise Interrupted

    def _reached(self, step: Step) -> None:
        self._cast.wait_reply_held(step.subject, int(step.arguments.get("nodes", 1)))

    def _sent(self, step: Step) -> None:
        if step.arguments.get("to") == "resource":
            self._cast.wait_write_held(step.subject)
        else:
            nodes = filled(step.arguments.get("nodes", 1), self._values)
            self._cast.wait_request_held(step.subject, int(nodes))

    def _repeat(self, step: Step) -> None:
        for _ in range(int(filled(step.subject, self._values))):
            self._carry_out(step.steps)

    def _measure(self, step: Step) -> None:
        if (answer := step.arguments.get("outcome")) is not None:
            outcome = self._outcome(str(answer))
            self._measures[step.subject] = float(outcome in _listed(step.arguments["is"]))
            return
        if "value" in step.arguments:
            self._measures[step.subject] = float(filled(step.arguments["value"], self._values))
            return
        start, end = str(step.arguments["from"]), str(step.arguments["to"])
        if end in self._never:
            self._measures[step.subject] = -1.0
            return
        plus_ms = duration_ms(step.arguments.get("plus", "0 ms"), self._values)
        self._measures[step.subject] = (self._instant(end) - self._instant(start)) / 1e6 + plus_ms

    def _outcome(self, answer: str) -> str:
        if answer not in self._outcomes:
            raise ScenarioError(f"{self._setting.scenario.name}: nothing named {answer} was answered yet")
        return self._outcomes[answer]

    def _instant(self, name: str) -> int:
        if name not in self._instants:
            raise ScenarioError(f"{self._setting.scenario.name}: nothing named {name} has happened yet")
        return self._instants[name]

    # -- afterwards ------------------------------------------------------------------------------------------------

    def _log(self) -> Sequence[Judged]:
        try:
            return self._setting.host.judged(self._setting.place, self._key)
        except ResourceUnreachable as silent:
            raise ResourceLost(f"the resource does not tell its log of trial {self._name}: {silent}") from silent

    def _assembled(self, ended_ns: int, messages: Mapping[str, Sequence[Message]], log: Sequence[Judged]) -> Trial:
        return Trial(
            name=self._name,
            parameters=self._recorded,
            ttl_ms=self._ttl_ms,
            began_ns=self._began_ns,
            ended_ns=ended_ns,
            asks=tuple(ask for name, said in messages.items() for ask in asks_of(name, said)),
            beliefs=tuple(
                belief
                for name, said in messages.items()
                for belief in beliefs_of(name, said, self._killed_ns.get(name))
            ),
            writes=tuple(write for name, said in messages.items() for write in writes_of(name, said, log)),
            presentations=tuple(one for name, said in messages.items() for one in presentations_of(name, said, log)),
            faults=tuple(sorted(self._faults, key=lambda window: window.began_ns)),
            measures=dict(self._measures),
            notes=dict(self._notes),
        )


def _window(struck: _Open, ended_ns: int | None) -> FaultWindow:
    return struck.in_force.window(struck.kind, struck.target, ended_ns)


def _listed(expect: Any) -> Sequence[str]:
    return [expect] if isinstance(expect, str) else [str(one) for one in expect]
