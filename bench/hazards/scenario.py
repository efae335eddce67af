"""Scenarios: one YAML file each in `scenarios/`, in a small vocabulary that has nothing of processes or servers in it.

What a file says is who does what, which fault strikes whom, and what is measured; how that is brought about on real
servers is the stage's business (and, in a model, the simulator's). The vocabulary:

    title, question    for people: what happens, and what the run answers
    meaning            what its runs mean to whoever judges them: see bench/records/meaning.py, which has every field
    systems            what `all` means. By what systems can do: {needs: {trait: true or false}}, all traits of it, see
                       bench/hazards/traits.py; of the headline systems, less those of `without: [...]`, and with those
                       of `also: [...]`; any other that has what is needed is played where it is named. Or, where the
                       scenario is about one system itself: their names, in the order of the table
    actors             by name: {proxied: true} lies behind a proxy of its own, so that it alone can be cut off;
                       {resource_proxied: true} reaches the resource through one;
                       {variant: {...}} goes to its lock client, {watchdog: 0.333 ttl} renews while it holds,
                       {call_timeout_ms: n} bounds each call of it; {suspension_uncounted: true} is a control: its lock
                       client gets a clock that stands still while its machine is suspended
    server_variant     {name: value} goes to the lock's servers before the run, over what the registry has for the
                       system; a value of none or own leaves them as the system has them
    parameters         name: default. Units last in names; `ttl_ms` must be one. Three are the resource's, if given:
                       `fence` (does it check tokens), `rule` (which it refuses: below or at_most) and `presented` (when
                       a new holder shows its token: at_write, or before_read, in one step with each read)
    quick, full        name: [values]: the grid of each mode, one run a combination; `full_repetitions` of each in the
                       full set (default 6), fewer where a run holds enough trials, or lasts for minutes
    trials             name: [values]: combinations within a run. `side_by_side` of them at a time, each on a key of its
                       own with actors of its own; `full_trials` instead of them in the full set, and there
                       `full_trials_of_each` of each combination (default 1), where a percentile takes many
    where              a list of `when`s (see below): of the combinations, runs and trials alike, only those are played
                       for which one of them holds; none: all. `mode` is quick or full there
    search             {parameter, low, high, grain}: within each trial's combination, the smallest whole value at
                       which the history shows overlapping beliefs, by halving, to within `grain`; each value tried is
                       a trial. One that was not as staged is played anew, `again` times at most, and says so
    per_system         system: {parameter: default}, where one needs another TTL
    resource           the kind of resource, or "$parameter"
    steps              one after the other:
        {actor: A, do: verb, ...}          ask, and wait for the answer; `later: true` does not wait, the answer is
                                           collected by {await: A}. `expect`: outcomes without which the staging is
                                           void; `before: instant`: so is a grant that is reported later
        {await: A}                         collect all answers of A
        {await: A, until: asking}          A's last acquire is on its way; its answer is not waited for
        {await: A, until: lost, within: d} A has come to know, for whatever reason, that it does not hold the key: the
                                           instant `A.lost`. It may never come; a measure up to it is -1 then
        {fault: kind, target: T, ...}      in force, and confirmed, when the next step begins
        {end: kind, target: T}             over, and confirmed
        {pass: "1.6 ttl", since: instant}  let time pass; default since now. An instant is the name of a fault (its
                                           begin), or `kind.end`, or `actor.verb` (its last answer), or
                                           `actor.verb.asked`, or `actor.lease` (its grant's end, by its own clock)
        {measure: name_ms, from: instant, to: instant, plus: duration}
        {measure: name, value: $parameter}
        {measure: name, outcome: A.verb, is: outcome or [outcomes]}      1 if A's last answer to the verb was that, or 0
        {reached: A, nodes: n}             wait until so many servers (default: one) have answered a request of A, which
                                           a `partition` keeps from hearing it: what A asked for first has been done,
                                           and A cannot know
        {sent: A, nodes: n}                wait until a request of A to so many servers (default: one) is held up on the
                                           way by a fault; {sent: A, to: resource}: one to the resource
        {repeat: n, steps: [...]}          all of these steps, n times over
      Any step may have `when: {parameter: value or [values]}`, also with `system` and with traits, and
      `provided: {actor.verb: outcome or [outcomes]}`, by what was answered before. Durations are "<number> ttl|ms|s",
      and "$name" is replaced by a parameter wherever it stands.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bench.errors import LockbenchError
from bench.hazards.traits import TRAITS, traits_of
from bench.records.hazards import Scalar
from bench.records.meaning import Meaning
from bench.records.yaml_text import read_yaml
from bench.systems.registry import HEADLINE, SYSTEMS

FOLDER = Path(__file__).parent / "scenarios"
_DURATION = re.compile(r"(?P<number>-?\d+(?:\.\d+)?) (?P<unit>ttl|ms|s)")
_PARAMETER = re.compile(r"\$([a-z_]+)")
_KINDS_OF_STEP = ("actor", "await", "fault", "end", "pass", "measure", "reached", "sent", "repeat")
When = dict[str, Scalar | list[Scalar]]


class ScenarioError(LockbenchError):
    """A scenario's file is wrong, or there is none of that name; the message says which, and what to do."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(BaseModel):
    """One step: of the kind whose key it has, with that kind's arguments beside it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str
    subject: str  # the actor, the fault, the duration, the measure or the number, by kind
    when: When = Field(default_factory=dict)
    provided: dict[str, str | list[str]] = Field(default_factory=dict)
    steps: "tuple[Step, ...]" = ()  # of a repetition

    @model_validator(mode="before")
    @classmethod
    def _of_one_kind(cls, tree: Any) -> Any:
        if not isinstance(tree, Mapping):
            raise ValueError(f"a step is a mapping, not {tree!r}")
        kinds = [kind for kind in _KINDS_OF_STEP if kind in tree]
        if len(kinds) != 1:
            raise ValueError(f"a step has exactly one of {', '.join(_KINDS_OF_STEP)}: {dict(tree)!r}")
        rest = {name: value for name, value in tree.items() if name != kinds[0]}
        return {"kind": kinds[0], "subject": str(tree[kinds[0]]), **rest}

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What stands beside the kind's own key."""
        return self.model_extra or {}

    def applies(self, values: Mapping[str, Scalar]) -> bool:
        """Does `when` hold for these parameters (the system is one of them)?"""
        return _holds(self.when, _with_traits(self.when, values))

    def called_for(self, outcomes: Mapping[str, str]) -> bool:
        """Does `provided` hold for what was answered so far, by actor and verb?"""
        return _holds(self.provided, outcomes)

    @property
    def all_steps(self) -> "Iterator[Step]":
        """Itself, then those within it."""
        yield self
        for step in self.steps:
            yield from step.all_steps


class Chosen(_Model):
    """Systems by what they can do: the headline ones that have every trait needed, less some, and others beside."""

    needs: dict[str, bool]
    without: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _known(self) -> "Chosen":
        if unknown := set(self.needs) - set(TRAITS):
            raise ValueError(f"no trait {', '.join(sorted(unknown))}: choose from {', '.join(TRAITS)}")
        return self

    def fits(self, name: str) -> bool:
        """Can the scenario be played on this system?"""
        if name in self.also:
            return True
        return name not in self.without and _holds(self.needs, traits_of(name))


class ActorPart(_Model):
    """How one actor is set up."""

    proxied: bool = False
    resource_proxied: bool = False
    variant: dict[str, str] = Field(default_factory=dict)  # values may be "$parameter"
    watchdog: str = ""  # a duration; "": it does not renew
    call_timeout_ms: int = 2_000
    suspension_uncounted: bool = False


class Search(_Model):
    """The smallest whole value of a parameter at which beliefs overlap, or less than `grain` above it.

    `high` and `grain` may be durations, in ms then.
    """

    parameter: str
    low: int
    high: int | str
    grain: int | str = 1
    again: int = 0


class Scenario(_Model):
    """One scenario, as its file has it."""

    name: str
    title: str
    question: str
    meaning: Meaning = Meaning()
    about: Chosen | tuple[str, ...] = Field(alias="systems")
    actors: dict[str, ActorPart]
    parameters: dict[str, Scalar]
    quick: dict[str, list[Scalar]] = Field(default_factory=dict)
    full: dict[str, list[Scalar]] = Field(default_factory=dict)
    trials: dict[str, list[Scalar]] = Field(default_factory=dict)
    full_trials: dict[str, list[Scalar]] = Field(default_factory=dict)  # instead of `trials` in the full set
    full_trials_of_each: int = Field(default=1, ge=1)
    where: tuple[When, ...] = ()
    side_by_side: int = 1
    search: Search | None = None
    per_system: dict[str, dict[str, Scalar]] = Field(default_factory=dict)
    server_variant: dict[str, str] = Field(default_factory=dict)
    full_repetitions: int = Field(default=6, ge=1)
    resource: str = "referee"
    steps: tuple[Step, ...]

    @model_validator(mode="after")
    def _consistent(self) -> "Scenario":
        if "ttl_ms" not in self.parameters:
            raise ValueError("parameters need a ttl_ms")
        if self.search is not None and self.search.parameter not in self.parameters:
            raise ValueError(f"search: no parameter {self.search.parameter}")
        if clash := set(self.parameters) & set(TRAITS):
            raise ValueError(f"parameters: {', '.join(sorted(clash))} is the name of a trait of systems")
        known = {*self.parameters, "system", *TRAITS}
        places: dict[str, Mapping[str, object]] = {
            "quick": self.quick,
            "full": self.full,
            "trials": self.trials,
            "full_trials": self.full_trials,
            **{f"per_system.{name}": values for name, values in self.per_system.items()},
            **{f"where, line {n}": _but_mode(when) for n, when in enumerate(self.where, 1)},
            **{f"step {n} (when)": step.when for n, step in self._numbered_steps()},
        }
        for place, names in places.items():
            if unknown := set(names) - known:
                raise ValueError(f"{place}: no parameter {', '.join(sorted(unknown))}")
        texts = [(f"actor {name}", str(part.variant)) for name, part in self.actors.items()]
        texts += [(f"step {n}", f"{step.subject} {dict(step.arguments)}") for n, step in self._numbered_steps()]
        for place, text in [*texts, ("server_variant", str(self.server_variant))]:
            for used in _PARAMETER.findall(text):
                if used not in known:
                    raise ValueError(f"{place}: no parameter {used}")
        for number, step in self._numbered_steps():
            if step.kind in ("actor", "await", "reached", "sent") and step.subject not in self.actors:
                raise ValueError(f"step {number}: no actor {step.subject}")
            if bool(step.steps) != (step.kind == "repeat"):
                raise ValueError(f"step {number}: a repetition has steps, and no other step has any")
        return self

    def _numbered_steps(self) -> "Iterator[tuple[int, Step]]":
        """Every step with the number of the one that it is, or is within."""
        for number, step in enumerate(self.steps, 1):
            for one in step.all_steps:
                yield number, one

    @property
    def fault(self) -> str:
        """In words, as tables have it."""
        return self.meaning.fault or (load_scenario(self.meaning.line_of).fault if self.meaning.line_of else self.name)

    @property
    def systems(self) -> tuple[str, ...]:
        """Those that it is played on where none is named, in the order of the tables."""
        if not isinstance(self.about, Chosen):
            return self.about
        chosen = {*self.about.also, *filter(self.about.fits, HEADLINE)}
        return tuple(sorted(chosen, key=list(SYSTEMS).index))

    def can_be_played_on(self, name: str) -> bool:
        """Is there something to see on this system of the registry, be it played by default or only where named?"""
        return self.about.fits(name) if isinstance(self.about, Chosen) else name in self.about

    def combinations(self, grid: Mapping[str, Sequence[Scalar]], system: str) -> Iterator[dict[str, Scalar]]:
        """Every combination of a run's grid that is played, over the defaults of this system."""
        defaults = {**self.parameters, **self.per_system.get(system, {})}
        varied_within = {*self.trials, *self.full_trials}
        for values in _product(grid):
            settled = {name: value for name, value in {**defaults, **values}.items() if name not in varied_within}
            if self._is_played({**settled, "system": system}):
                yield {**defaults, **values}

    def trials_of(self, values: Mapping[str, Scalar], full: bool) -> list[dict[str, Scalar]]:
        """Every combination of the trials of a run that is played; `values` are the run's, the system among them."""
        grid = self.full_trials if full and self.full_trials else self.trials
        settled = {**values, "mode": "full" if full else "quick"}
        played = [combination for combination in _product(grid) if self._is_played({**settled, **combination})]
        return played * (self.full_trials_of_each if full else 1)

    def _is_played(self, values: Mapping[str, Scalar]) -> bool:
        """Does a line of `where` hold, as far as these values go?"""
        for when in self.where:
            known = _with_traits(when, values)
            if _holds({name: wanted for name, wanted in when.items() if name in known}, known):
                return True
        return not self.where


def _but_mode(when: When) -> When:
    return {name: wanted for name, wanted in when.items() if name != "mode"}


def _with_traits(when: Mapping[str, Any], values: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Parameters, and beside them the traits of the system where `when` asks for any."""
    return values if set(TRAITS).isdisjoint(when) else {**traits_of(str(values["system"])), **values}


def _holds(when: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(values.get(name) in (wanted if isinstance(wanted, list) else [wanted]) for name, wanted in when.items())


def _product(grid: Mapping[str, Sequence[Scalar]]) -> Iterator[dict[str, Scalar]]:
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def load_scenario(name: str, folder: Path = FOLDER) -> Scenario:
    """Read one scenario by name. Raises ScenarioError with the file and what is wrong in it."""
    path = folder / f"{name}.yaml"
    try:
        tree = read_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ScenarioError(f"no scenario {name!r}: choose from {', '.join(scenario_names(folder))}, or all") from None
    except yaml.YAMLError as broken:
        raise ScenarioError(f"{path}: {broken}") from broken
    try:
        return Scenario.model_validate({"name": name, **tree})
    except (ValidationError, TypeError) as wrong:
        raise ScenarioError(f"{path}: {wrong}") from wrong


def scenario_names(folder: Path = FOLDER) -> list[str]:
    """All scenarios that there are, by name."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def filled(value: Any, values: Mapping[str, Scalar]) -> Any:
    """`value` with every "$name" in it replaced. A text that is one name alone takes that parameter's own type."""
    if isinstance(value, str):
        if (whole := _PARAMETER.fullmatch(value)) is not None:
            return values[whole[1]]
        return _PARAMETER.sub(lambda match: str(values[match[1]]), value)
    if isinstance(value, Mapping):
        return {name: filled(part, values) for name, part in value.items()}
    if isinstance(value, list):
        return [filled(part, values) for part in value]
    return value


def duration_ms(text: Any, values: Mapping[str, Scalar]) -> float:
    """A duration in ms. Raises ScenarioError for what is none."""
    written = str(filled(text, values))
    match = _DURATION.fullmatch(written)
    if match is None:
        raise ScenarioError(f"{written!r} is no duration: write it as '1.6 ttl', '250 ms' or '2 s'")
    return float(match["number"]) * {"ttl": float(values["ttl_ms"]), "ms": 1.0, "s": 1_000.0}[match["unit"]]
