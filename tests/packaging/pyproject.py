"""What pyproject.toml asks for, as requirements."""

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def runtime_requirements() -> dict[str, Requirement]:
    """By canonical name."""
    return _by_name(project()["dependencies"])


def all_requirements() -> dict[str, Requirement]:
    """The `dev` extra included."""
    return _by_name(project()["dependencies"] + project()["optional-dependencies"]["dev"])


def _by_name(lines: list[str]) -> dict[str, Requirement]:
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(one.name): one for one in requirements}
