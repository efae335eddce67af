"""Which engine is found, how it is started, and what is said when there is none."""

import json
from pathlib import Path

import pytest

from bench.servers.spec import Found, Missing, Node
from bench.systems.dynamodb import engines
from bench.systems.dynamodb.server import DynamoDBServers


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lockbench home without anything in it, and a path with a Node.js of version 20 and a Java."""
    for name, told in (("node", "v20.1.0"), ("java", "17")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {told}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    monkeypatch.setenv("LOCKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LOCKBENCH_DYNAMODB_LOCAL_DIR", raising=False)
    monkeypatch.setattr("sys.prefix", str(tmp_path / "no environment"))
    monkeypatch.setattr(engines, "CHECKOUT", tmp_path / "checkout")
    return tmp_path / "home"


def install_dynalite(modules: Path, version: str) -> Path:
    folder = modules / "dynalite"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "dynalite", "version": version}))
    return folder


def test_without_dynalite_the_command_that_installs_it_is_told(home: Path) -> None:
    missing = DynamoDBServers().find()
    assert isinstance(missing, Missing)
    assert missing.install == f"npm install --prefix {home / 'npm'} {engines.DYNALITE}"
    assert DynamoDBServers.npm_packages == (engines.DYNALITE,)


def test_dynalite_in_the_home_is_found_and_its_own_version_told(home: Path) -> None:
    folder = install_dynalite(home / "npm/node_modules", "3.2.1")
    found = DynamoDBServers().find()
    assert isinstance(found, Found)
    assert found.version == "3.2.1"
    assert found.programs["dynalite"] == str(folder)


def test_dynalite_of_the_checkout_serves_a_home_elsewhere(home: Path) -> None:
    folder = install_dynalite(home.parent / "checkout/.lockbench/npm/node_modules", "3.2.1")
    found = DynamoDBServers().find()
    assert isinstance(found, Found)
    assert found.programs["dynalite"] == str(folder)


def test_an_old_node_is_not_enough(home: Path) -> None:
    install_dynalite(home / "npm/node_modules", "3.2.2")
    (home.parent / "bin/node").write_text("#!/bin/sh\necho v16.20.0\n")
    missing = DynamoDBServers().find()
    assert isinstance(missing, Missing)
    assert "Node.js" in missing.what


def test_dynalite_listens_on_the_nodes_address_only(home: Path, tmp_path: Path) -> None:
    install_dynalite(home / "npm/node_modules", "3.2.2")
    found = DynamoDBServers().find()
    assert isinstance(found, Found)
    node = Node("dynamodb", {"client": 24444}, tmp_path)
    (launch,) = DynamoDBServers().prepare([node], found)
    assert launch.argv[-2:] == ("127.0.0.1", "24444")
    options = DynamoDBServers().endpoint([node]).options
    assert (options["engine"], options["version"], options["storage"]) == ("dynalite", "3.2.2", "memory")


def test_a_named_folder_with_dynamodb_local_comes_first(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_dynalite(home / "npm/node_modules", "3.2.2")
    local = tmp_path / "local"
    local.mkdir()
    monkeypatch.setenv("LOCKBENCH_DYNAMODB_LOCAL_DIR", str(local))
    missing = DynamoDBServers().find()
    assert isinstance(missing, Missing)  # never dynalite in its place, unasked
    assert str(local) in missing.what
    (local / "DynamoDBLocal.jar").touch()
    found = DynamoDBServers().find()
    assert isinstance(found, Found)
    (launch,) = DynamoDBServers().prepare([Node("dynamodb", {"client": 24445}, tmp_path)], found)
    assert launch.argv[0] == str(tmp_path / "bin/java")
    assert f"-Djava.library.path={local}/DynamoDBLocal_lib" in launch.argv
    assert launch.argv[-2:] == ("-port", "24445")


def test_a_container_says_by_its_replies_what_it_is() -> None:
    endpoint = DynamoDBServers().endpoint([Node("dynamodb", {"client": 8000}, Path())])
    assert "engine" not in endpoint.options
