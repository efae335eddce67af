"""Everything that is true of one system stands in its folder: no module elsewhere names one, or imports its folder."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.systems.registry import PROBES, SYSTEMS

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
# Where one system, or its servers, is the subject itself.
SUBJECT = {
    "calibrate": "redis-benchmark and pgbench drive one backend each; the instrument is held against them",
    "hazards/resources": "a resource that a lock protects lives on the servers of a set, and is no lock",
    "jobs": "the records of jobs are rows of one database, and the ways without a lock are its own",
    "analysis/hazards/claims": "a claim of a page is about the system that it names",
    "report/figures/redlock_clock.py": "the figure of Redlock's clocks",
    "conformance/wires.py": "planted faults have a wire of their own, in `faulty`",
    "conformance/interruptions.py": "the store of `memory` stands for a server, in which no client is interrupted",
    "records/environment.py": "names of libraries, not of systems",
    "load/options.py": "what the form of Locust's page shows first",
    "commands/campaigns.py": "what `lockbench live` shows first",
    "load/measured.py": "the version that DynamoDB's own service tells",
}
ALSO_WORDS = {"memory", "null", "faulty"}  # systems whose names are words of other meanings, too
NAMES = {*SYSTEMS, *PROBES, *(entry.server_set for entry in SYSTEMS.values())}
NAMED = {name for name in NAMES if name} - ALSO_WORDS
FOLDERS = {entry.folder for entry in SYSTEMS.values()}


def named_in(source: str) -> Iterator[str]:
    """Every literal that is the name of a system or of a set of servers, and every import from a system's folder."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in NAMED:
            yield f"{node.lineno}: {node.value!r}"
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        if any(module == folder or module.startswith(f"{folder}.") for module in modules for folder in FOLDERS):
            yield f"{node.lineno}: imports {modules[0]}"


def excepted(path: Path) -> bool:
    place = str(path.relative_to(BENCH))
    return any(place == name or place.startswith(f"{name}/") for name in SUBJECT)


def test_no_module_outside_the_folders_names_a_system() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{what}"
        for path in sorted(BENCH.rglob("*.py"))
        if not path.is_relative_to(BENCH / "systems") and not excepted(path)
        for what in named_in(path.read_text())
    ]
    assert not found, "ask the registry by what the system can do"


@pytest.mark.parametrize("place", SUBJECT)
def test_every_exception_is_still_needed(place: str) -> None:
    paths = [BENCH / place] if place.endswith(".py") else sorted((BENCH / place).rglob("*.py"))
    assert any(list(named_in(path.read_text())) for path in paths)


@pytest.mark.parametrize(
    "source", ['if name == "redis":\n    pass', "from bench.systems.etcd.lock import EtcdLock", 'X = {"postgres": 1}']
)
def test_a_name_is_seen(source: str) -> None:
    assert list(named_in(source))
