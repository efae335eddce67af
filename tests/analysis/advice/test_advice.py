"""Advice: every path of the rules ends with measured evidence, or says honestly that nothing fits and why."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import pytest

from bench.analysis.advice.advice import Advice, advise
from bench.analysis.advice.examples import examples
from bench.analysis.advice.lookups import LOOKUPS
from bench.analysis.advice.rules import TABLE, read_rules, rules
from bench.analysis.advice.situation import Situation
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.meanings import scenarios_in
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.places import reference_campaign, reference_hazards
from bench.errors import LockbenchError
from bench.records.meaning import Role
from bench.systems.registry import SERVER_SETS, SYSTEMS

NUMBERS = ((None, None, None), (20.0, 0.5, 30.0), (0.000_001, None, 0.001), (5.0, 50.0, None))
HAVE = (frozenset(), *(frozenset({name}) for name in SERVER_SETS), frozenset(SERVER_SETS))


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return Evidence.load(reference_campaign(), hazards=reference_hazards())


@pytest.fixture(scope="module")
def known_runs(evidence: Evidence) -> frozenset[str]:
    """The ids that `lockbench show` understands."""
    assert evidence.hazards is not None
    apart = [row.run_id for found in evidence.apart.values() for row in found.rows]
    return frozenset([*(row.run_id for row in evidence.rows), *apart, *(run.run_id for run in evidence.hazards.runs)])


def situations(haves: Sequence[frozenset[str]] = HAVE) -> Iterator[Situation]:
    for answers, numbers, have in product(rules().all_answers(), NUMBERS, haves):
        yield Situation(answers, have, *numbers)


def faults_of(advice: Advice, evidence: Evidence, known_runs: frozenset[str]) -> Iterator[str]:
    """What is wrong with an answer, whatever it recommends."""
    systems = [one.system for one in (*advice.ranked, *advice.excluded)]
    if sorted(systems) != sorted(evidence.headline):
        yield f"systems: {systems}"
    if not advice.need:
        yield "it does not say whether a lock is needed"
    for one in advice.ranked:
        for step in advice.steps:
            finding = one.found[step.id]
            if step.effect == "excludes" and finding.passes is not True:
                yield f"{one.system} is ranked, and does not pass {step.id}"
            if not finding.words:
                yield f"{one.system}: nothing is said about {step.id}"
        if not any(finding.runs for finding in one.found.values()):
            yield f"{one.system} is ranked without a run"
    for one in advice.excluded:
        if not one.failed or any(
            one.found[step.id].passes is True or not one.found[step.id].words for step in one.failed
        ):
            yield f"{one.system} is ruled out without a reason"
    for one in (*advice.ranked, *advice.excluded):
        unknown = {run for finding in one.found.values() for run in finding.runs} - known_runs
        if unknown:
            yield f"{one.system}: no such runs {sorted(unknown)[:3]}"


@pytest.mark.thorough
def test_every_path_ends_with_evidence_or_an_honest_no(evidence: Evidence, known_runs: frozenset[str]) -> None:
    fitting = nothing = 0
    for situation in situations():
        advice = advise(evidence, situation)
        assert not list(faults_of(advice, evidence, known_runs)), situation
        fitting += bool(advice.ranked)
        nothing += not advice.ranked
    assert fitting, "some situation must have a lock that fits"
    assert nothing, "an impossible budget must have none"


def test_no_path_recommends_what_lost_the_lock_without_a_fence(evidence: Evidence) -> None:
    """By the verdicts themselves, past the lookups."""
    assert evidence.hazards is not None
    pauses = scenarios_in(Role.PAUSE_MAP)
    safe = {
        one.system
        for one in evidence.hazards.verdicts
        if one.line.fault in pauses and not one.line.variant and one.verdict is HazardVerdict.SAFE
    }
    for situation in situations(HAVE[:1]):
        answers = situation.answers
        if (answers["purpose"], answers["token"], answers["pauses"]) == ("correctness", "cannot", "possible"):
            assert {one.system for one in advise(evidence, situation).ranked} <= safe


def test_an_emulator_is_never_ranked(evidence: Evidence) -> None:
    emulated = {cell.system for cell in evidence.cells if cell.emulator}
    assert emulated
    for situation in situations(HAVE[-1:]):
        assert emulated.isdisjoint(one.system for one in advise(evidence, situation).ranked)


def test_what_runs_already_decides_between_equals(evidence: Evidence) -> None:
    answers = {**rules().defaults, "purpose": "efficiency"}
    measured = {SYSTEMS[cell.system].server_set for cell in evidence.cells if not cell.emulator}
    first = {
        name: advise(evidence, Situation(answers, frozenset({name}))).ranked[0]
        for name in SERVER_SETS
        if name in measured
    }
    assert len(first) >= 5
    assert all(one.runs_already for one in first.values())


def test_without_a_hazard_campaign_nothing_is_safe(evidence: Evidence) -> None:
    blind = replace(evidence, hazards=None)
    advice = advise(blind, Situation({**rules().defaults, "purpose": "correctness", "token": "checks"}))
    assert not advice.ranked
    assert {one.found["pause-with-fence"].words for one in advice.excluded} == {"not measured"}
    assert advise(blind, Situation({**rules().defaults, "purpose": "efficiency"})).ranked


def test_a_slow_network_rules_out_by_round_trips_alone(evidence: Evidence) -> None:
    answers = {**rules().defaults, "purpose": "efficiency"}
    assert advise(evidence, Situation(answers, budget_ms=100.0, round_trip_ms=1.0)).ranked
    slow = advise(evidence, Situation(answers, budget_ms=100.0, round_trip_ms=1_000.0))
    assert not slow.ranked
    assert all(" in sequence" in one.found["budget"].words for one in slow.excluded)


def test_a_ttl_that_is_set_leaves_time_for_the_excess(evidence: Evidence) -> None:
    answers = {**rules().defaults, "purpose": "efficiency"}
    for one in advise(evidence, Situation(answers, recover_within_s=20.0)).ranked:
        for setting in one.settings:
            if found := re.fullmatch(r"TTL at most ([\d.]+) s", setting):
                assert 0.0 < float(found[1]) <= 20.0


def test_the_table_is_consistent() -> None:
    table = rules()
    assert {entry.looks_up for entry in (*table.steps, *table.set)} == set(LOOKUPS)
    assert len({step.id for step in table.steps}) == len(table.steps)
    words = [*(entry.says for entry in (*table.need, *table.set)), *(step.title for step in table.steps)]
    assert not [one for one in words if re.search(r"\d", one)], "a number is looked up, and never written in the table"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("purpose: efficiency}", "purpose: nosuch}"),
        ("{protects: record}", "{nosuch: record}"),
        ("effect: warns", "effect: forbids"),
        ("by: runs_already", "by: taste"),
        ("questions:", "questions: ["),
    ],
)
def test_a_mistake_in_the_table_is_one_message(before: str, after: str) -> None:
    text = TABLE.read_text(encoding="utf-8")
    assert before in text
    with pytest.raises(LockbenchError, match=r"rules\.yaml"):
        read_rules(text.replace(before, after, 1))


def test_the_examples_have_different_answers(evidence: Evidence) -> None:
    assert len(examples()) == 3
    assert len({tuple(one.system for one in advise(evidence, each.situation).ranked) for each in examples()}) == 3
