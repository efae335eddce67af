"""requirements.lock pins everything, for every Python and machine that is promised, and names no machine of ours."""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.pyproject import ROOT, all_requirements

LOCK = ROOT / "requirements.lock"
PYTHONS = ("3.11", "3.12", "3.13")


def entries() -> list[tuple[Requirement, int]]:
    """Each pinned requirement with the number of its hashes."""
    joined = re.sub(r"\\\n\s*", " ", LOCK.read_text(encoding="utf-8"))
    lines = [line for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [(Requirement(line.partition(" --hash")[0]), line.count("--hash=sha256:")) for line in lines]


def pins(python: str, system: str = "linux", machine: str = "x86_64") -> dict[str, str]:
    """Name -> version as pip would read the lock there."""
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": system,
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "os_name": "nt" if system == "win32" else "posix",
        "extra": "",
    }
    chosen: dict[str, str] = {}
    for requirement, _ in entries():
        if requirement.marker is None or requirement.marker.evaluate(environment):
            name = canonicalize_name(requirement.name)
            assert name not in chosen, f"{name} is pinned twice for Python {python} on {system}"
            chosen[name] = str(requirement.specifier).removeprefix("==")
    return chosen


def test_every_entry_is_pinned_with_hashes() -> None:
    for requirement, hashes in entries():
        assert re.fullmatch(r"==[^,*]+", str(requirement.specifier)), requirement
        assert hashes > 0, requirement


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(("system", "machine"), [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")])
def test_the_lock_holds_what_pyproject_asks_for(python: str, system: str, machine: str) -> None:
    pinned = pins(python, system, machine)
    for name, requirement in all_requirements().items():
        assert name in pinned, f"{name} is not in requirements.lock: run `make lock`"
        assert requirement.specifier.contains(pinned[name], prereleases=True), (
            f"{requirement}: {pinned[name]} is pinned"
        )


def test_the_lock_is_closed() -> None:
    """What any locked package needs is locked too: with --no-deps nothing else would bring it."""
    pinned = pins(".".join(map(str, sys.version_info[:2])))
    todo = [(name, extra) for name, one in all_requirements().items() for extra in ("", *one.extras)]
    seen = set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        assert name in pinned, f"{name} is not in requirements.lock: run `make lock`"
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                other = canonicalize_name(needed.name)
                assert other in pinned, f"{name} needs {needed}, which requirements.lock does not have"
                assert needed.specifier.contains(pinned[other], prereleases=True), f"{name} needs {needed}"
                todo += [(other, more) for more in ("", *needed.extras)]
    assert len(seen) > len(all_requirements())


def test_what_is_installed_is_what_pyproject_asks_for() -> None:
    for name, requirement in all_requirements().items():
        try:
            version = distribution(name).version
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed")
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: {version} is installed"


def test_no_index_host_or_path_is_in_the_lock() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert not re.findall(r"https?://|file:|--(?:extra-)?index-url|--find-links|--trusted-host| @ |(?<!\w)/\w+/", text)
