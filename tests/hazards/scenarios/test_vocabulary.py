"""What a scenario's file may say, and what it is told when it says something else. No server, no actor."""

from pathlib import Path

import pytest
import yaml

from bench.hazards.scenario import Scenario, ScenarioError, load_scenario, scenario_names
from bench.systems.registry import SYSTEMS

PLAIN = {
    "title": "t",
    "question": "q",
    "systems": ["redis", "etcd"],
    "actors": {"one": {}},
    "parameters": {"ttl_ms": 1000, "event": "calm", "fence": True},
    "steps": [{"actor": "one", "do": "acquire"}],
}


def scenario(folder: Path, **more: object) -> Scenario:
    (folder / "s.yaml").write_text(yaml.safe_dump({**PLAIN, **more}))
    return load_scenario("s", folder)


@pytest.mark.parametrize("name", scenario_names())
def test_every_file_is_about_systems_that_there_are_and_has_a_trial_for_each(name: str) -> None:
    one = load_scenario(name)
    for grid in (one.quick or {}, one.full):
        for system in one.systems:
            assert system in SYSTEMS
            runs = list(one.combinations(grid, system))
            assert runs, f"nothing is played on {system}"
            for values in runs:
                for full in (False, True):
                    assert one.trials_of({**values, "system": system}, full), f"no trial on {system} with {values}"


def test_where_leaves_out_trials_by_system(tmp_path: Path) -> None:
    one = scenario(
        tmp_path,
        trials={"event": ["calm", "storm"]},
        where=[{"event": "calm"}, {"event": "storm", "system": ["etcd"]}],
    )
    of = {name: one.trials_of({"ttl_ms": 1000, "fence": True, "system": name}, full=False) for name in one.systems}
    assert of == {"redis": [{"event": "calm"}], "etcd": [{"event": "calm"}, {"event": "storm"}]}


def test_where_leaves_out_runs_and_waits_for_what_trials_will_say(tmp_path: Path) -> None:
    one = scenario(
        tmp_path,
        trials={"event": ["storm"]},
        where=[{"event": "storm", "fence": False, "system": "redis"}],
    )
    grid = {"fence": [False, True]}
    assert [values["fence"] for values in one.combinations(grid, "redis")] == [False]
    assert list(one.combinations(grid, "etcd")) == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"where": [{"evnt": "calm"}]}, "where, line 1: no parameter evnt"),
        ({"steps": [{"repeat": 2}]}, "step 1: a repetition has steps"),
        ({"steps": [{"pass": "1 s", "steps": [{"pass": "1 s"}]}]}, "step 1: a repetition has steps"),
        ({"steps": [{"repeat": 2, "steps": [{"actor": "two", "do": "check"}]}]}, "step 1: no actor two"),
        ({"steps": [{"repeat": "$times", "steps": [{"pass": "1 s"}]}]}, "step 1: no parameter times"),
        ({"steps": [{"repeat": 2, "steps": [{"pass": "$ms ms"}]}]}, "step 1: no parameter ms"),
        ({"steps": [{"reached": "two"}]}, "step 1: no actor two"),
        ({"search": {"parameter": "jump_ms", "low": 1, "high": "1 ttl"}}, "search: no parameter jump_ms"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, more: dict[str, object], told: str) -> None:
    with pytest.raises(ScenarioError, match=told.replace("$", r"\$")):
        scenario(tmp_path, **more)
