"""How the PostgreSQL server is found and laid out, with stand-ins for its programs."""

import os
import stat
from pathlib import Path

import pytest

from bench.errors import LockbenchError
from bench.servers.spec import Found, Missing, Node
from bench.systems.postgres_row import server
from bench.systems.postgres_row.server import DURABILITY, PostgresServers

INITDB = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -D ] && echo 15 >"$2/PG_VERSION"; shift; done
"""


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch) -> PostgresServers:
    """As a plain user sees it: the stand-ins need no account of their own."""
    monkeypatch.setattr(PostgresServers, "unprivileged_account", lambda self: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return PostgresServers()


@pytest.fixture
def node(tmp_path: Path) -> Node:
    (tmp_path / "node").mkdir()
    return Node("postgres", {"client": 24321}, tmp_path / "node")


def found(tmp_path: Path, initdb: str = INITDB) -> Found:
    programs = {"postgres": program(tmp_path / "lib/bin/postgres", "#!/bin/sh\n")}
    programs["initdb"] = program(tmp_path / "lib/bin/initdb", initdb)
    return Found({name: str(path) for name, path in programs.items()}, "15.1")


def test_the_newest_version_is_taken(spec: PostgresServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("15.9", "9.6.24", "17.2"):
        folder = tmp_path / version / "bin"
        program(folder / "postgres", f"#!/bin/sh\necho 'postgres (PostgreSQL) {version} (somewhere)'\n")
        program(folder / "initdb", "#!/bin/sh\n")
    monkeypatch.setattr(server, "_folders", lambda: iter(sorted(tmp_path.glob("*/bin"))))
    best = spec.find()
    assert isinstance(best, Found)
    assert best.version == "17.2"
    assert best.programs["initdb"] == str(tmp_path / "17.2/bin/initdb")


def test_a_named_folder_is_the_only_one_and_an_old_version_is_said(
    spec: PostgresServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCKBENCH_POSTGRES_BIN", str(tmp_path))
    nothing = spec.find()
    assert isinstance(nothing, Missing)
    assert nothing.install == "sudo apt-get install postgresql"
    program(tmp_path / "postgres", "#!/bin/sh\necho 'postgres (PostgreSQL) 13.4'\n")
    program(tmp_path / "initdb", "#!/bin/sh\n")
    old = spec.find()
    assert isinstance(old, Missing)
    assert "13.4" in old.what


def test_root_without_the_account_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(server, "ACCOUNT", "nobody-of-this-name")
    missing = PostgresServers().find()
    assert isinstance(missing, Missing)
    assert "nobody-of-this-name" in missing.what


def test_the_layout_is_made_once_and_kept(spec: PostgresServers, node: Node, tmp_path: Path) -> None:
    programs = found(tmp_path)
    spec.prepare([node], programs)
    password = node.directory / "password"
    assert stat.S_IMODE(password.stat().st_mode) == 0o600
    first = spec.endpoint([node])
    spec.prepare([node], programs)
    assert spec.endpoint([node]).secrets == first.secrets
    assert len(first.secrets["password"]) >= 32
    assert first.secrets["password"] not in repr(first)


def test_the_server_is_durable_and_listens_on_its_own_address_only(
    spec: PostgresServers, node: Node, tmp_path: Path
) -> None:
    (launch,) = spec.prepare([node], found(tmp_path))
    flags = dict(flag.split("=", 1) for flag in launch.argv if "=" in flag)
    assert {name: flags[name] for name in DURABILITY} == dict(spec.native_durability())
    assert flags["listen_addresses"] == "127.0.0.1"
    assert flags["port"] == "24321"
    assert flags["unix_socket_directories"] == ""
    assert "shared_preload_libraries" not in flags
    (tmp_path / "lib/lib").mkdir()
    (tmp_path / "lib/lib/pg_stat_statements.so").touch()
    (launch,) = spec.prepare([node], found(tmp_path))
    assert "shared_preload_libraries=pg_stat_statements" in launch.argv


def test_a_failed_initdb_is_told_and_never_started(spec: PostgresServers, node: Node, tmp_path: Path) -> None:
    broken = found(tmp_path, "#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n")
    with pytest.raises(LockbenchError, match="no space left on device"):
        spec.prepare([node], broken)
    spec.prepare([node], found(tmp_path))  # and what it left behind is in nobody's way
    assert (node.directory / "cluster/PG_VERSION").exists()
