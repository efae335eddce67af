"""The meanings of all scenarios, read from their files, and who plays which role.

The files are data of the package: reading them imports nothing of what plays scenarios. A campaign may hold a scenario
that has no file here; then it has the meaning of one that says nothing.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import ValidationError

from bench.errors import LockbenchError
from bench.records.meaning import Meaning, Named, Role
from bench.records.yaml_text import read_yaml

FOLDER = Path(__file__).parents[2] / "hazards" / "scenarios"
_Made = TypeVar("_Made")


@cache
def meanings() -> Mapping[str, Meaning]:
    """By scenario, in the order of tables."""
    found = {path.stem: _read(path) for path in FOLDER.glob("*.yaml")}
    return {name: found[name] for name in sorted(found, key=lambda name: (found[name].place, name))}


def meaning_of(scenario: str) -> Meaning:
    """A scenario's own; of one that has no file, that of one that says nothing."""
    return meanings().get(scenario) or Meaning()


def line_of(scenario: str) -> str:
    """The scenario that gives its line of the verdicts their id and words: itself, or another."""
    return meaning_of(scenario).line_of or scenario


@cache
def scenarios_in(*roles: Role) -> tuple[str, ...]:
    """Those that play any of these roles, in the order of tables."""
    return tuple(name for name, meaning in meanings().items() if not set(roles).isdisjoint(meaning.roles))


def plays(scenario: str, *roles: Role) -> bool:
    """Does a scenario play any of these roles?"""
    return scenario in scenarios_in(*roles)


def function(
    scenario: str, named: Named, plain: Mapping[str, _Made], made: Mapping[str, Callable[..., _Made]]
) -> _Made:
    """What a scenario's meaning names: a function as it stands, or one that is made from arguments."""
    if isinstance(named, str):
        if named in plain:
            return plain[named]
        raise LockbenchError(f"{scenario}: no {named}: choose from {', '.join(plain)}")
    ((name, arguments),) = named.items()
    if name not in made:
        raise LockbenchError(f"{scenario}: nothing makes {name} from arguments: choose from {', '.join(made)}")
    try:
        return made[name](*arguments)
    except TypeError as wrong:
        raise LockbenchError(f"{scenario}: {wrong}") from None


def _read(path: Path) -> Meaning:
    try:
        tree = read_yaml(path.read_text(encoding="utf-8"))
        return Meaning.model_validate(tree.get("meaning", {}))
    except (ValidationError, yaml.YAMLError, AttributeError) as wrong:
        raise LockbenchError(f"{path}: {wrong}") from wrong
