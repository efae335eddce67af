"""What the surroundings and lockbench.toml say of a server set is honoured, or refused by name before a start.

Every set, and every variable that could be set for it: with servers of the user's own, and without.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.servers.running import compose
from bench.servers.running.settings import SettingsError, load_settings
from bench.servers.running.state import NodeState, StateFile
from bench.servers.running.supervisor import NotRunning, Supervisor
from bench.servers.spec import Found, Node
from bench.servers.url import Secret
from bench.systems.registry import SERVER_SETS, SYSTEMS, server_sets

SPECS = {spec.name: spec for spec in server_sets(tuple(SYSTEMS.values()))}
SYSTEM_OF = {entry.servers.name: entry for entry in reversed(tuple(SYSTEMS.values())) if entry.servers is not None}
SECRETS = tuple(secret.upper() for secret in get_args(Secret))
UNKNOWN = ("FIRST_PORT", "PASSWD", "PASS", "TOKEN", "HOST", "PORT", "TLS", "TLS_CAFILE", "SSL_CA", "CA", "DB", "X")
HONOURED = {("postgres", "compose", "PASSWORD")}  # docker-compose.yml reads it as well
ADDRESS = "127.0.0.1:9"
FOUND = Found({}, "as installed")


class Started(Exception):
    """A server process or container was about to be started, or a server to be asked."""


@pytest.fixture(autouse=True)
def _nothing_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def start(*_: object) -> None:
        raise Started

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCKBENCH_DATA", str(tmp_path / "runs"))
    monkeypatch.setattr(compose, "up", start)
    monkeypatch.setattr(compose, "containers", lambda *_, **__: set())
    monkeypatch.setattr(compose, "engine_answers", lambda: True)
    for spec in SPECS.values():
        monkeypatch.setattr(type(spec), "identify", start)
        monkeypatch.setattr(type(spec), "find", lambda _: FOUND)
        monkeypatch.setattr(type(spec), "prepare", start)
    yield
    assert not list(tmp_path.rglob("environment.json")), "a campaign was begun"


def refused(*arguments: str) -> str:
    ended = CliRunner().invoke(app, list(arguments))
    assert isinstance(ended.exception, SettingsError), (arguments, repr(ended.exception), ended.output)
    told = str(ended.exception)
    assert "hunter2" not in told
    assert "\n" not in told
    return told


def commands(name: str) -> tuple[tuple[str, ...], ...]:
    system = SYSTEM_OF[name].name
    run = ("run", "-s", system, "-w", "uncontended", "-n", "1")
    return ("up", name), run, ("hazard", "run", "gc-pause", "-s", system)


@pytest.mark.parametrize("source", ["", "auto", "native", "compose"])
@pytest.mark.parametrize(("name", "secret"), list(itertools.product(SERVER_SETS, SECRETS)))
def test_a_secret_without_a_url(name: str, secret: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_{secret}", "hunter2")
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_SOURCE", source)
    if (name, source, secret) in HONOURED:
        assert isinstance(CliRunner().invoke(app, ["up", name]).exception, Started)
        return
    for command in commands(name):
        told = refused(*command)
        assert f"LOCKBENCH_{name.upper()}_{secret}" in told
        assert f"LOCKBENCH_{name.upper()}_URL" in told


@pytest.mark.parametrize("url", ["", ADDRESS])
@pytest.mark.parametrize(("name", "unknown"), list(itertools.product(SERVER_SETS, UNKNOWN)))
def test_a_variable_that_there_is_none_of(name: str, unknown: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_{unknown}", "hunter2")
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_URL", url)
    for command in commands(name):
        assert f"LOCKBENCH_{name.upper()}_{unknown} is not known here: choose from" in refused(*command)


@pytest.mark.parametrize("source", ["native", "compose", "docker", "URL", " "])
@pytest.mark.parametrize("name", SERVER_SETS)
def test_a_source_beside_a_url(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_URL", ADDRESS)
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_SOURCE", source)
    for command in commands(name):
        told = refused(*command)
        assert f"LOCKBENCH_{name.upper()}_SOURCE" in told
        assert source not in ("native", "compose") or f"LOCKBENCH_{name.upper()}_URL" in told


@pytest.mark.parametrize("source", ["auto", "url"])
@pytest.mark.parametrize("name", SERVER_SETS)
def test_a_source_that_agrees_with_a_url(name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_URL", ADDRESS)
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_SOURCE", source)
    assert isinstance(CliRunner().invoke(app, ["up", name]).exception, Started)


@pytest.mark.parametrize("name", SERVER_SETS)
def test_variables_of_another_set_are_of_no_concern(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in SERVER_SETS:
        if other != name:
            monkeypatch.setenv(f"LOCKBENCH_{other.upper()}_PASSWORD", "hunter2")
    assert isinstance(CliRunner().invoke(app, ["up", name]).exception, Started)


# -- lockbench.toml ----------------------------------------------------------------------------------------------------

CONTRADICTIONS = {
    'source = "native"\nurl = "h:1"': ("source", "url"),
    'source = "compose"\nurl = "h:1"': ("source", "url"),
    'first_port = 20000\nurl = "h:1"': ("first_port", "url"),
    'first_port = 20000\nsource = "url"': ("first_port", "source"),
    'first_port = 20000\nsource = "compose"': ("first_port", "source"),
    **{f'{field} = "hunter2"': (field,) for field in (*get_args(Secret), "pass", "database", "tls")},
}


@pytest.mark.parametrize(("name", "text"), list(itertools.product(SERVER_SETS, CONTRADICTIONS)))
def test_a_file_that_contradicts_itself(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "lockbench.toml").write_text(f"[servers.{name}]\n{text}\n")
    told = refused("up", name)
    assert all(word in told for word in ("lockbench.toml", name, *CONTRADICTIONS[text]))


@pytest.mark.parametrize(
    ("text", "variables", "source"),
    [
        ('url = "h:1"', {"SOURCE": "native"}, "native"),
        ('url = "h:1"', {"SOURCE": "compose"}, "compose"),
        ('url = "h:1"', {"SOURCE": "auto"}, "url"),
        ('url = "h:1"', {"SOURCE": "url"}, "url"),
        ('source = "native"\nfirst_port = 20000', {"URL": "h:2"}, "url"),
        ('source = "compose"', {"URL": "h:2"}, "url"),
        ("first_port = 20000", {"SOURCE": "compose"}, "compose"),
    ],
)
@pytest.mark.parametrize("name", SERVER_SETS)
def test_the_environment_wins(tmp_path: Path, name: str, text: str, variables: dict[str, str], source: str) -> None:
    (tmp_path / "lockbench.toml").write_text(f"[servers.{name}]\n{text}\n")
    settings = load_settings(environment={f"LOCKBENCH_{name.upper()}_{key}": each for key, each in variables.items()})
    assert Supervisor(tmp_path, settings).source(SPECS[name]) == source


# -- servers that are up, and settings of later ------------------------------------------------------------------------


def recorded(home: Path, name: str, source: str, address: str = ADDRESS) -> None:
    """As an `up` of before left it."""
    host, port = address.split(":")
    nodes = [Node(each, {"client": int(port)}, home / each, host) for each in SPECS[name].node_names]
    nodes = [Node(address, {"client": int(port)}, Path(), host)] if source == "url" else nodes
    StateFile(home, name).write(source, [NodeState(node, "as it was", home / "servers") for node in nodes])


LATER = {
    "a URL": ("native", {"URL": ADDRESS}, NotRunning),
    "containers": ("native", {"SOURCE": "compose"}, NotRunning),
    "programs": ("compose", {"SOURCE": "native"}, NotRunning),
    "another URL": ("url", {"URL": "127.0.0.1:10"}, NotRunning),
    "no URL": ("url", {}, NotRunning),
    **{f"{secret} for native": ("native", {secret: "hunter2"}, SettingsError) for secret in SECRETS},
    "an unknown one": ("native", {"PASSWD": "hunter2"}, SettingsError),
}


@pytest.mark.parametrize(("name", "later"), list(itertools.product(SERVER_SETS, LATER)))
def test_servers_that_are_up_are_not_measured_in_place_of_those_that_are_named(
    tmp_path: Path, name: str, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As plain `locust` asks: it brings nothing up."""
    source, variables, refusal = LATER[later]
    recorded(Supervisor.default().home, name, source)
    for variable, value in variables.items():
        monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_{variable}", value)
    with pytest.raises(refusal, match=f"lockbench up {name}|LOCKBENCH_{name.upper()}_") as told:
        Supervisor.default().endpoint(SPECS[name])
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(("before", "now"), [("native", "compose"), ("compose", "native")])
@pytest.mark.parametrize("name", SERVER_SETS)
def test_servers_of_one_source_give_way_to_those_of_another(
    name: str, before: str, now: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They still prove themselves. Nobody would stop them later: the record of them is written over."""
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_SOURCE", now)
    monkeypatch.setattr(type(SPECS[name]), "prove", lambda *_: "as it was")
    monkeypatch.setattr(compose, "container", lambda *_: "a container")
    supervisor = Supervisor.default()
    recorded(supervisor.home, name, before)
    with pytest.raises(Started):
        supervisor.up([SPECS[name]])
    assert StateFile(supervisor.home, name).read() is None
