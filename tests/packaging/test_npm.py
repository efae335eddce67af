"""npm packages go into a folder of ours, at the version that is asked for, once."""

import os
from pathlib import Path

import pytest

from bench.servers.installing.commands import InstallError
from bench.servers.installing.npm import (
    installed_version,
    major_version,
    name_of,
    npm_install,
    require_node,
    version_of,
)

SMALL = "ms@2.1.3"  # one file, no dependencies


def test_a_package_is_installed_once_for_real(tmp_path: Path) -> None:
    said: list[str] = []
    assert npm_install(tmp_path / "npm", [SMALL], say=said.append) == (SMALL,)
    assert SMALL in said[0]
    assert installed_version(tmp_path / "npm", "ms") == "2.1.3"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["npm"]

    said.clear()
    assert npm_install(tmp_path / "npm", [SMALL], say=said.append) == ()
    assert said == []


@pytest.fixture
def fake_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """npm that notes its arguments, beside a node of a version that a test writes."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "npm").write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/calls\ncat {tmp_path}/says 2>&1\n')
    (programs / "node").write_text("#!/bin/sh\necho v20.11.1\n")
    for path in programs.iterdir():
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "says").write_text("")
    return tmp_path


def test_all_packages_are_named_since_npm_removes_the_others(fake_npm: Path) -> None:
    home = fake_npm / "npm"
    (home / "node_modules/ms").mkdir(parents=True)
    (home / "node_modules/ms/package.json").write_text('{"version": "2.1.3"}')
    assert npm_install(home, [SMALL, "@scope/dynalite@3.2.2"], say=lambda _: None) == ("@scope/dynalite@3.2.2",)
    assert (fake_npm / "calls").read_text().split() == [
        *("install", "--prefix", str(home), "--no-audit", "--no-fund", "--no-save"),
        *(SMALL, "@scope/dynalite@3.2.2"),
    ]


def test_a_no_installs_nothing(fake_npm: Path) -> None:
    with pytest.raises(InstallError, match="npm install --prefix"):
        npm_install(fake_npm / "npm", [SMALL], ask=lambda _: False, say=lambda _: None)
    assert not (fake_npm / "calls").exists()


def test_npm_s_own_words_are_passed_on(fake_npm: Path) -> None:
    (fake_npm / "says").unlink()
    with pytest.raises(InstallError, match="No such file"):
        npm_install(fake_npm / "npm", [SMALL], say=lambda _: None)


def test_an_old_node_is_refused(fake_npm: Path) -> None:
    (fake_npm / "bin/node").write_text("#!/bin/sh\necho v16.20.2\n")
    with pytest.raises(InstallError, match=r"v16\.20\.2 is too old"):
        require_node()


def test_without_node_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InstallError, match="there is no node here"):
        npm_install(tmp_path / "npm", [SMALL], say=lambda _: None)


def test_versions_and_names() -> None:
    assert (name_of("dynalite@3.2.2"), version_of("dynalite@3.2.2")) == ("dynalite", "3.2.2")
    assert (name_of("@scope/it@1.0.0"), version_of("@scope/it@1.0.0")) == ("@scope/it", "1.0.0")
    assert name_of("@scope/it") == "@scope/it"
    assert major_version("v18.20.4") == 18
    with pytest.raises(ValueError, match="has no version"):
        version_of("@scope/it")
    with pytest.raises(InstallError, match="which is no version"):
        major_version("")


def test_a_broken_package_counts_as_absent(tmp_path: Path) -> None:
    assert installed_version(tmp_path, "ms") is None
    (tmp_path / "node_modules/ms").mkdir(parents=True)
    (tmp_path / "node_modules/ms/package.json").write_text('{"name": "ms"')
    assert installed_version(tmp_path, "ms") is None
