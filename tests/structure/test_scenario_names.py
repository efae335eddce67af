"""What a scenario means stands in its file: no module names one. They ask which scenarios play a role."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.hazards.scenario import scenario_names

BENCH = Path(__file__).parents[2] / "bench"
# Names of scenarios that are words of other meanings too, and the modules that have them in those.
ALSO_WORDS = {
    "hazards/faults/registry.py": "kinds of faults: `restart`, `failover`",
    "hazards/lab": "kinds of faults: `restart`, `failover`",
    "campaign/live/staging/buttons.py": "a kind of fault: `restart`",
    "hazards/stage.py": "`watchdog`, an argument of a step",
    "simulator/schedules.py": "kinds of faults: `restart`",
    "simulator/play.py": "`watchdog`, an argument of a step",
    "analysis/hazards/recovery.py": "`failover`, a parameter of trials",
    "analysis/hazards/claims/consistency.py": "`restart`, a word of a sentence",
}
NAMES = set(scenario_names())


def named_in(source: str) -> Iterator[str]:
    """Every literal that is a scenario's name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            yield f"{node.lineno}: {node.value!r}"


def places() -> Iterator[tuple[str, Path]]:
    for path in sorted(BENCH.rglob("*.py")):
        yield str(path.relative_to(BENCH)), path


def test_no_module_names_a_scenario() -> None:
    found = [
        f"{place}:{what}"
        for place, path in places()
        if not any(place == name or place.startswith(f"{name}/") for name in ALSO_WORDS)
        for what in named_in(path.read_text())
    ]
    assert not found, "give the scenario a role (bench/records/meaning.py), and ask for that"


def test_what_is_excepted_is_a_word_and_no_more() -> None:
    words = {"restart", "failover", "watchdog"}
    for name in ALSO_WORDS:
        found = [what for place, path in places() if place.startswith(name) for what in named_in(path.read_text())]
        assert found, f"{name} needs no exception"
        assert {ast.literal_eval(what.partition(": ")[2]) for what in found} <= words


@pytest.mark.parametrize("source", ['if row.scenario == "gc-pause":\n    pass', 'X = ("watchdog", "late-release")'])
def test_a_name_is_seen(source: str) -> None:
    assert list(named_in(source))
