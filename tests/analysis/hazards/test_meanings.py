"""What scenarios mean: each file says it whole and right, and a new file is all that a new scenario takes."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.analysis.hazards import claims, meanings, subjects
from bench.analysis.hazards.claims import judge_by_hazards, judges
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import line_of, meaning_of, scenarios_in
from bench.analysis.hazards.subjects import subject_of
from bench.analysis.hazards.verdicts import fault_verdicts
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.places import project_root
from bench.errors import LockbenchError
from bench.hazards.scenario import load_scenario, scenario_names
from bench.records.meaning import Role
from bench.records.store import HazardFolder
from bench.report.hazard_rows import scenario_tables
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, pause, two_holders
from tests.analysis.hazards.test_hazard_claims import CLAIMS

OURS = meanings.meanings()
Added = Callable[[str, str], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Added]:
    """Put scenarios' files in a folder beside copies of ours."""
    for path in meanings.FOLDER.glob("*.yaml"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(meanings, "FOLDER", tmp_path)
    caches = (meanings.meanings, scenarios_in, subject_of, judges)

    def added(name: str, text: str) -> None:
        (tmp_path / f"{name}.yaml").write_text(text)
        for cached in caches:
            cached.cache_clear()

    yield added
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_names_functions_that_there_are(name: str) -> None:
    assert subject_of(name).plain.words
    with (project_root() / "data" / "claims.csv").open() as rows:
        assert set(meaning_of(name).claims) <= {row["id"] for row in csv.DictReader(rows)}


@pytest.mark.parametrize("name", scenario_names())
def test_who_plays_and_who_judges_read_the_same_meaning(name: str) -> None:
    assert load_scenario(name).meaning == OURS[name]
    assert load_scenario(name).fault == (OURS[line_of(name)].fault or name)


def test_what_a_fault_is_called_is_said_once() -> None:
    borrowed = {name: meaning.line_of for name, meaning in OURS.items() if meaning.line_of}
    assert not [name for name in borrowed if OURS[name].fault], "words of its own, and another's"
    assert not [owner for owner in borrowed.values() if OURS[owner].line_of]
    own = [meaning.fault or name for name, meaning in OURS.items() if not meaning.line_of and not meaning.own_table]
    assert len(set(own)) == len(own), "say line_of"
    places = [meaning.place for meaning in OURS.values()]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("role", Role)
def test_every_role_is_played(role: Role) -> None:
    assert scenarios_in(role)


def test_the_key_of_a_line_and_its_words_tell_the_same_lines_apart() -> None:
    found = HazardEvidence.load(HazardFolder(project_root() / "data" / "reference" / "hazards")).verdicts
    assert len({one.id for one in found}) == len({one.fault for one in found}) == len({(o.id, o.fault) for o in found})
    assert all(one.id == one.id.lower() and " " not in one.id for one in found)


def test_a_scenario_is_added_by_its_file_alone(add: Added) -> None:
    """Words, harm, exposure, lines, a role and a claim: no module knows the name."""
    text = """
    meaning:
      fault: stones from the sky
      line_of: ""
      place: 15
      hazard: freed for another
      shows: {measured: [stolen]}
      exposed: {stopped: [pause]}
      variant: {value_of: [size]}
      roles: [pinning, pause_map]
      claims: {C99: page_scenario}
    """
    add("meteor", text)
    stolen = pause(4000.0)
    shown = Staged({**stolen.parameters, "size": "As An Egg"}, {"stolen": 1.0}, faults=stolen.faults)
    runs = records.often("meteor", "redis", shown)
    before, got = fault_verdicts([*runs, *records.often("gc-pause", "redis", pause(4000.0))])
    assert before.id == "gc-pause"
    assert (got.id, got.fault) == ("meteor/as-an-egg", "stones from the sky (As An Egg)")
    assert (got.verdict, str(got.hazard)) == (HazardVerdict.UNSAFE, "freed for another")
    assert "another client's lock was freed in 6 of 6" in got.reason
    evidence = records.evidence(*runs)
    assert [(one.scenario, one.fault) for one in scenario_tables(evidence)] == [("meteor", "stones from the sky")]
    assert evidence.in_role(Role.PAUSE_MAP, "redis") == evidence.of("meteor")
    assert judges()["C99"] == (claims.PLAIN["page_scenario"], "meteor")


def test_without_a_meaning_it_is_two_holders_under_its_own_name(add: Added) -> None:
    add("meteor", "title: stones")
    (got,) = fault_verdicts(records.often("meteor", "redis", two_holders(True)))
    assert (got.id, got.fault, str(got.hazard)) == ("meteor", "meteor", "two holders")


def test_a_claim_has_one_scenario_that_names_it(add: Added) -> None:
    add("meteor", "meaning: {claims: {C19: not_safe}}")
    with pytest.raises(LockbenchError, match="C19 stands in the files of two scenarios, gc-pause and meteor"):
        judge_by_hazards(CLAIMS["C19"], records.evidence())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("meaning: {exposed: stoped}", "meteor: no stoped: choose from always"),
        ("meaning: {exposed: {stoped: [pause]}}", "nothing makes stoped from arguments: choose from stopped"),
        ("meaning: {exposed: {outlasted: []}}", r"meteor: outlasted\(\) missing"),
        ("meaning: {exposed: {stopped: [pause], struck: [kill]}}", "meteor.yaml"),
        ("meaning: {shows: stopped}", "no stopped: choose from never, two_holders"),
        ("meaning: {hazard: bad luck}", "meteor: no harm 'bad luck'"),
        ("meaning: {role: [pinning]}", "meteor.yaml"),
        ("meaning: [", "meteor.yaml"),
        ("- stones", "meteor.yaml"),
    ],
)
def test_what_is_wrong_in_a_meaning_is_told(add: Added, text: str, told: str) -> None:
    add("meteor", text)
    with pytest.raises(LockbenchError, match=told):
        subjects.subject_of("meteor")
