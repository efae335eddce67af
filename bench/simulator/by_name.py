"""What people ask of the simulator: a scenario on a system, and the schedules that break a rule, both by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.errors import LockbenchError
from bench.hazards.checker import check_trial
from bench.hazards.scenario import Scenario, duration_ms, load_scenario
from bench.hazards.traits import traits_of
from bench.records.hazards import Scalar, Trial, TrialChecked
from bench.simulator.kinds import Kind, kind_of
from bench.simulator.play import play
from bench.simulator.schedules import WHERE_ASKED, faults_of, setting_of
from bench.simulator.search import Found, search, shown

Judged = tuple[Trial, TrialChecked]


@dataclass(frozen=True, slots=True)
class Simulated:
    """One trial of a scenario: in `words` its parameters, in `staging` what was not as staged."""

    words: str
    judged: Judged
    staging: tuple[str, ...]


def simulated(name: str, system: str, settled: Mapping[str, Scalar]) -> Iterator[Simulated]:
    """Every combination that a quick run has, with these parameters settled for all of it.

    Raises LockbenchError for a scenario, system or parameter that does not fit; NotModelled.
    """
    _kind_with_servers(system)
    scenario = load_scenario(name)
    if not scenario.can_be_played_on(system):
        raise LockbenchError(f"{name} is not about {system}: choose from {', '.join(scenario.systems)}")
    _require_fit(scenario, settled)
    for values in _combinations(scenario, system, settled):
        played = play(scenario, {**values, "system": system}, values)
        words = ", ".join(f"{key} {value}" for key, value in values.items())
        yield Simulated(words, (played.trial, check_trial(played.trial)), played.staging)


def random_faults(system: str) -> tuple[str, ...]:
    """Faults that random schedules of a system may have; the last ones only where they are asked for."""
    return (*faults_of(kind_of(system)), *WHERE_ASKED)


def counter_examples(
    system: str,
    schedules: int,
    seed: int,
    *,
    fence: bool = True,
    presents: bool = True,
    faults: Sequence[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, tuple[Found, Judged | None]]:
    """By rule: how often random schedules break it, and the smallest that does, as a trial. Raises LockbenchError."""
    kind = _kind_with_servers(system)
    if unknown := set(faults) - set(random_faults(system)):
        known = ", ".join(random_faults(system))
        raise LockbenchError(f"no fault {', '.join(sorted(unknown))} in random schedules of {system}: {known}")
    setting = setting_of(kind, fence, presents, faults)
    found = search(setting, schedules, seed, progress)
    return {rule: (one, shown(one.smallest, setting) if one.smallest else None) for rule, one in found.items()}


def _kind_with_servers(system: str) -> Kind:
    if not traits_of(system)["servers"]:
        raise LockbenchError(f"{system} has no servers: there is nothing to model")
    return kind_of(system)


def _require_fit(scenario: Scenario, settled: Mapping[str, Scalar]) -> None:
    if unknown := set(settled) - set(scenario.parameters):
        known = ", ".join(scenario.parameters)
        raise LockbenchError(f"{scenario.name} has no parameter {', '.join(sorted(unknown))}: it has {known}")
    for name, value in settled.items():
        default = scenario.parameters[name]
        kinds: tuple[type, ...] = (int, float) if type(default) in (int, float) else (type(default),)
        if type(value) not in kinds or (name == "ttl_ms" and int(value) < 1):
            raise LockbenchError(f"{name}={value} does not fit: {scenario.name} has {default} for it")


def _combinations(scenario: Scenario, system: str, settled: Mapping[str, Scalar]) -> Sequence[dict[str, Scalar]]:
    """Where a scenario searches for a value, the highest."""
    defaults = {**scenario.parameters, **scenario.per_system.get(system, {}), **settled}
    sought = scenario.search
    if sought is not None and sought.parameter not in settled:
        high = sought.high
        settled = {**settled, sought.parameter: high if isinstance(high, int) else int(duration_ms(high, defaults))}
        defaults = {**defaults, **settled}
    trials = scenario.trials_of({**defaults, "system": system}, full=False)
    combined = [{**defaults, **trial, **settled} for trial in trials] or [defaults]
    return [one for number, one in enumerate(combined) if one not in combined[:number]]
