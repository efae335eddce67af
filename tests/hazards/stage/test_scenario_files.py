"""Scenario files: every one of ours is right, and every way to get one wrong is told in one message."""

import textwrap
from pathlib import Path

import pytest

from bench.hazards.faults.registry import FAULTS
from bench.hazards.resources.registry import kinds
from bench.hazards.scenario import ScenarioError, duration_ms, filled, load_scenario, scenario_names
from bench.systems.registry import SYSTEMS

GOOD = """
    title: T
    question: Q
    meaning: {fault: pause of the holder}
    systems: [redis]
    actors: {holder: {}}
    parameters: {ttl_ms: 1000, pause_ttls: 2}
    steps:
      - {actor: holder, do: acquire}
      - {fault: pause, target: holder}
      - {pass: $pause_ttls ttl, since: pause}
      - {end: pause, target: holder}
"""


def written(folder: Path, text: str) -> Path:
    (folder / "one.yaml").write_text(textwrap.dedent(text))
    return folder


@pytest.mark.parametrize("name", scenario_names())
def test_ours_name_what_exists(name: str) -> None:
    scenario = load_scenario(name)
    assert set(scenario.systems) <= set(SYSTEMS), "a system that is not in the registry"
    assert {step.subject for step in scenario.steps if step.kind == "fault"} <= set(FAULTS)
    assert scenario.resource.startswith("$") or scenario.resource in kinds()
    for step in scenario.steps:
        if step.kind == "end":
            begun = [one.subject for one in scenario.steps if one.kind == "fault"]
            assert step.subject in begun, f"{step.subject} ends and was never begun"


def test_a_right_file_is_read(tmp_path: Path) -> None:
    scenario = load_scenario("one", written(tmp_path, GOOD))
    assert [step.kind for step in scenario.steps] == ["actor", "fault", "pass", "end"]
    assert list(scenario.combinations({"pause_ttls": [1, 2]}, "redis")) == [
        {"ttl_ms": 1000, "pause_ttls": 1},
        {"ttl_ms": 1000, "pause_ttls": 2},
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("ttl_ms: 1000, ", "", "ttl_ms"),
        ("actor: holder, do", "actor: nobody, do", "no actor nobody"),
        ("$pause_ttls ttl", "$pauses ttl", "no parameter pauses"),
        ("fault: pause, target", "fault: pause, end: pause, target", "exactly one of"),
        ("title: T", "titel: T", "titel"),
        ("- {actor: holder, do: acquire}", "- acquire", "a step is a mapping"),
        ("steps:", "trials: {ratio: [1]}\n    steps:", "no parameter ratio"),
        ("meaning: {fault", "meaning: {[fault", "one.yaml"),
        ("meaning: {fault", "meaning: {role", "meaning.role"),
        ("of the holder}", "of the holder, roles: [pawn]}", "pause_map"),
    ],
)
def test_a_wrong_file_is_told(tmp_path: Path, right: str, wrong: str, told: str) -> None:
    assert right in GOOD
    with pytest.raises(ScenarioError, match=told) as raised:
        load_scenario("one", written(tmp_path, GOOD.replace(right, wrong, 1)))
    assert str(tmp_path / "one.yaml") in str(raised.value)


def test_an_unknown_name_is_told_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no scenario 'two': choose from one, or all"):
        load_scenario("two", written(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("text", "expected"), [("1.6 ttl", 800.0), ("250 ms", 250.0), ("2 s", 2000.0), ("$p ttl", 250.0)]
)
def test_durations(text: str, expected: float) -> None:
    assert duration_ms(text, {"ttl_ms": 500, "p": 0.5}) == expected


@pytest.mark.parametrize("text", ["5", "ttl", "1,5 s", "-", "1.5ttl", ""])
def test_no_duration(text: str) -> None:
    with pytest.raises(ScenarioError, match="no duration"):
        duration_ms(text, {"ttl_ms": 500})


def test_a_name_alone_keeps_its_type() -> None:
    values = {"fence": True, "n": 3}
    assert filled({"a": "$fence", "b": ["$n", "x$n"]}, values) == {"a": True, "b": [3, "x3"]}


def test_the_full_set_plays_several_of_each_where_a_percentile_takes_many() -> None:
    crashes = load_scenario("crash-recovery")
    quick, full = (crashes.trials_of({**crashes.parameters, "system": "redis"}, full) for full in (False, True))
    assert [told["ttl_ms"] for told in quick] == [1000, 2000, 3000]
    assert [told["ttl_ms"] for told in full] == [1000, 2000, 5000] * 4
