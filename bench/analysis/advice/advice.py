"""The answer: which systems pass every step, in which order, and why each of the others does not."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.advice.lookups import LOOKUPS, restart
from bench.analysis.advice.rules import Need, Rank, Rules, Step, ToDo, rules
from bench.analysis.advice.situation import Finding, Looked, Situation
from bench.analysis.evidence import Evidence
from bench.analysis.jobs import Crossing, crossings, way_lines
from bench.analysis.places import JOBS
from bench.systems.registry import SYSTEMS

_LAST = float("inf")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One system with what it showed, step by step."""

    system: str
    row: str  # of the tables, whose speed counts
    found: Mapping[str, Finding]  # by step
    failed: tuple[Step, ...]
    warned: tuple[Step, ...]
    runs_already: bool

    @property
    def fits(self) -> bool:
        return not self.failed

    @property
    def settings(self) -> tuple[str, ...]:
        """What has to be set for it to pass as it did."""
        return tuple(dict.fromkeys(finding.setting for finding in self.found.values() if finding.setting))


@dataclass(frozen=True, slots=True)
class Advice:
    """`ranked` fit, best first; `excluded` do not, those that fail the fewest steps first."""

    situation: Situation
    need: tuple[Need, ...]
    crossings: tuple[Crossing, ...]  # empty: whole jobs were not measured
    steps: tuple[Step, ...]
    to_do: tuple[tuple[ToDo, Finding], ...]  # with what was measured of the first choice, or of the nearest to one
    rank: tuple[Rank, ...]
    ranked: tuple[Candidate, ...]
    excluded: tuple[Candidate, ...]


def advise(evidence: Evidence, situation: Situation, table: Rules | None = None) -> Advice:
    """Apply the rules (default: the bench's own) to everything that the evidence has of the headline systems."""
    table = table or rules()
    steps = tuple(step for step in table.steps if step.applies(situation.answers))
    order = tuple(rank for rank in table.rank if rank.applies(situation.answers))
    candidates = [_candidate(evidence, situation, system, steps) for system in evidence.headline]
    fitting = [one for one in candidates if one.fits]
    ranked = tuple(sorted(fitting, key=lambda one: tuple(_place(one, rank) for rank in order)))
    excluded = tuple(sorted((one for one in candidates if not one.fits), key=lambda one: len(one.failed)))
    need = tuple(one for one in table.need if one.applies(situation.answers))
    return Advice(
        situation=situation,
        need=need,
        crossings=crossings(way_lines(evidence.about(JOBS).cells)) if any(one.crossing for one in need) else (),
        steps=steps,
        rank=order,
        to_do=_to_do(evidence, situation, table, (*ranked, *excluded)),
        ranked=ranked,
        excluded=excluded,
    )


def _to_do(
    evidence: Evidence, situation: Situation, table: Rules, candidates: tuple[Candidate, ...]
) -> tuple[tuple[ToDo, Finding], ...]:
    if not candidates:
        return ()
    looked = Looked(evidence, candidates[0].system, situation, candidates[0].row)
    return tuple((one, _found(one.looks_up, looked)) for one in table.set if one.applies(situation.answers))


def _found(name: str, looked: Looked) -> Finding:
    """Looked up once for all situations with the same numbers: answers decide which steps apply, not what they find."""
    known: dict[object, Finding] = looked.evidence.once(_nothing_yet)
    said = looked.situation
    key = (name, looked.system, looked.row, said.budget_ms, said.round_trip_ms, said.recover_within_s)
    if key not in known:
        known[key] = LOOKUPS[name](looked)
    return known[key]


def _nothing_yet(_: Evidence) -> dict[object, Finding]:
    return {}


def _candidate(evidence: Evidence, situation: Situation, system: str, steps: tuple[Step, ...]) -> Candidate:
    found: dict[str, Finding] = {}
    row = system
    for step in steps:
        finding = _found(step.looks_up, Looked(evidence, system, situation, row))
        found[step.id] = finding
        # Where it passes only with a setting that costs durable writes, it is as fast as the row that was measured so.
        if finding.setting and step.looks_up == _COSTS and (sibling := _durable(evidence, system)):
            row = sibling
    by_effect = {
        effect: tuple(step for step in steps if step.effect == effect and found[step.id].passes is not True)
        for effect in ("excludes", "warns")
    }
    return Candidate(
        system=system,
        row=row,
        found=found,
        failed=by_effect["excludes"],
        warned=by_effect["warns"],
        runs_already=SYSTEMS[system].server_set in situation.runs if system in SYSTEMS else False,
    )


_COSTS = restart.__name__  # the lookup whose setting makes a system wait for its disk


def _durable(evidence: Evidence, system: str) -> str:
    """The row with durable writes, where it was measured."""
    return next((row for row in evidence.systems if row != system and names.claimed_as(row) == system), "")


def _place(one: Candidate, rank: Rank) -> float:
    match rank.by:
        case "fewest_warnings":
            return len(one.warned)
        case "runs_already":
            return 0.0 if one.runs_already else 1.0
        case "shortest_wait":
            return _value(one, "waiting")
        case "least_latency":
            return _value(one, "latency")


def _value(one: Candidate, step: str) -> float:
    found = one.found.get(step)
    return _LAST if found is None or found.value is None else found.value
