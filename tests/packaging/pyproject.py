"""What pyproject.toml asks for, as requirements."""

import tomllib
from collections.abc import Callable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def runtime_requirements() -> dict[str, Requirement]:
    """What users may want, by canonical name: every extra but `dev`."""
    return _by_name(project()["dependencies"] + _of_extras(lambda name: name != "dev"))


def all_requirements() -> dict[str, Requirement]:
    """Every extra included."""
    return _by_name(project()["dependencies"] + _of_extras(lambda name: True))


def _of_extras(wanted: Callable[[str], bool]) -> list[str]:
    extras = project()["optional-dependencies"]
    return [line for name, lines in extras.items() if wanted(name) for line in lines]


def _by_name(lines: list[str]) -> dict[str, Requirement]:
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): one for one in requirements}
