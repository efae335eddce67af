"""environment.yml and pyproject.toml ask for the same Python packages, and the installed ones satisfy both."""

import json
import subprocess
import sys

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.pyproject import ROOT, project, runtime_requirements

PROGRAMS = {"python", "pip", "redis-server", "etcd", "postgresql", "openjdk", "nodejs"}


def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def conda_lines() -> list[str]:
    return [line for line in environment()["dependencies"] if isinstance(line, str)]


def pip_lines() -> list[str]:
    (section,) = [entry["pip"] for entry in environment()["dependencies"] if isinstance(entry, dict)]
    return section


def python_requirements() -> dict[str, Requirement]:
    """The Python packages of both parts, by PyPI's canonical names."""
    found = {}
    for line in [*conda_lines(), *(one for one in pip_lines() if one != "-e .")]:
        requirement = Requirement(line)
        if requirement.name in PROGRAMS:
            continue
        requirement.name = canonicalize_name(requirement.name)
        assert requirement.name not in found, f"{requirement.name} is in environment.yml twice"
        found[requirement.name] = requirement
    return found


def test_both_ask_for_the_same_packages_and_versions() -> None:
    ours = {name: requirement.specifier for name, requirement in runtime_requirements().items()}
    theirs = {name: requirement.specifier for name, requirement in python_requirements().items()}
    assert theirs == ours


def test_packages_from_pip_come_with_their_extras() -> None:
    """Extras are pip's; conda-forge has packages of their own instead."""
    for line in pip_lines():
        if line != "-e .":
            requirement = Requirement(line)
            assert requirement.extras == runtime_requirements()[requirement.name].extras, line


def test_python_and_the_servers_are_there() -> None:
    versions = {Requirement(line).name: Requirement(line).specifier for line in conda_lines()}
    assert str(versions["python"]) == project()["requires-python"]
    assert set(versions) >= PROGRAMS
    assert environment()["channels"] == ["conda-forge", "nodefaults"]


def test_lockbench_itself_is_linked() -> None:
    assert "-e ." in pip_lines()


def test_the_installed_packages_satisfy_the_python_part() -> None:
    """pip resolves the whole of it together and finds nothing left to install."""
    wanted = [str(requirement) for requirement in python_requirements().values()]
    report = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-", *wanted],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert report.returncode == 0, report.stderr
    assert [one["metadata"]["name"] for one in json.loads(report.stdout)["install"]] == []
