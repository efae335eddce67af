"""Servers of the user's own are proven like ours: an address at which they do not answer is never `up`."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest

from bench.errors import LockbenchError
from bench.servers.running.settings import ServerSettings, Settings
from bench.servers.running.state import NodeState, StateFile
from bench.servers.running.supervisor import Supervisor
from bench.servers.spec import Node, ServerSpec
from bench.systems.registry import SERVER_SETS, SYSTEMS, server_sets
from tests.servers.impostors import BEHAVIOURS, impostor
from tests.thorough import case

SPECS = {spec.name: spec for spec in server_sets(tuple(SYSTEMS.values()))}
# Those of three sets are Redis servers: at one of the others' addresses the right kind answers.
ALIKE = {frozenset(two) for two in combinations(("redis", "redispair", "redlock"), 2)}


def url_of(name: str, port: int) -> str:
    """All nodes of a set at one port is what Redlock refuses: its own differ by their loopback addresses."""
    return ",".join(f"127.0.0.{number}:{port}" for number in range(1, 1 + (5 if name == "redlock" else 1)))


def supervisor_at(home: Path, name: str, url: str) -> Supervisor:
    return Supervisor(home, Settings(servers={name: ServerSettings(url=url)}))


def refusal(home: Path, spec: ServerSpec, port: int) -> str:
    """What `up` says. It must not say that the servers are up, and leave no record of them."""
    supervisor = supervisor_at(home, spec.name, url_of(spec.name, port))
    try:
        running = supervisor.up([spec])
    except LockbenchError as refused:
        assert supervisor.status([spec]) == []
        return str(refused)
    return f"up: {running[spec.name].identity}"


def status(home: Path, spec: ServerSpec, port: int) -> str | None:
    """What `status` says of servers that were up, and at whose address something else is now."""
    node = Node(f"127.0.0.1:{port}", {"client": port}, Path())
    StateFile(home, spec.name).write("url", (NodeState(node, "as it was", home / "servers"),))
    (line,) = supervisor_at(home, spec.name, url_of(spec.name, port)).status([spec])
    return line.problem


@pytest.mark.parametrize("name", SERVER_SETS)
@pytest.mark.parametrize("asked", [case(refusal, rare=False, id="up"), case(status, rare=True, id="status")])
def test_what_is_no_server_of_the_kind(tmp_path: Path, name: str, asked: "type[refusal]") -> None:
    def told(kind: str) -> tuple[str, int, str | None]:
        with impostor(BEHAVIOURS[kind]) as port:
            return kind, port, asked(tmp_path / kind, SPECS[name], port)

    with ThreadPoolExecutor(len(BEHAVIOURS)) as pool:
        answers = list(pool.map(told, BEHAVIOURS))
    for kind, port, problem in answers:
        assert problem is not None, kind
        assert f":{port} does not answer as {SPECS[name].title} does: " in problem, (kind, problem)
        assert "\n" not in problem, (kind, problem)


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """All six, as lockbench starts them."""
    supervisor = Supervisor(tmp_path_factory.mktemp("private"))
    try:
        supervisor.up(list(SPECS.values()))
        yield supervisor
    finally:
        supervisor.down(list(SPECS.values()))


@pytest.mark.servers
@pytest.mark.parametrize("name", SERVER_SETS)
def test_another_system_at_the_address(private: Supervisor, tmp_path: Path, name: str) -> None:
    others = [other for other in SERVER_SETS if other != name and {name, other} not in ALIKE]

    def told(other: str) -> tuple[str, str]:
        port = private.running(SPECS[other]).nodes[0].node.port
        return other, refusal(tmp_path / other, SPECS[name], port)

    with ThreadPoolExecutor(len(others)) as pool:
        for other, problem in pool.map(told, others):
            assert f"does not answer as {SPECS[name].title} does: " in problem, (other, problem)


@pytest.mark.servers
@pytest.mark.parametrize("name", SERVER_SETS)
def test_the_right_server_tells_who_it_is(
    private: Supervisor, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = private.endpoint(SPECS[name])
    for secret, value in endpoint.secrets.items():
        monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_{secret.upper()}", value)
    user, database = endpoint.options.get("user"), endpoint.options.get("database")
    url = f"{user + '@' if user else ''}{endpoint}{'/' + database if database else ''}"
    supervisor = supervisor_at(tmp_path, name, url)
    running = supervisor.up([SPECS[name]])[name]
    assert running.source == "url"
    lines = supervisor.status([SPECS[name]])
    assert [line.problem for line in lines] == [None] * len(endpoint.addresses)
    for line, state in zip(lines, running.nodes, strict=True):
        assert line.identity == state.identity
        assert line.identity != line.address


@pytest.mark.servers
def test_an_address_that_does_not_answer_costs_nobody_the_servers_that_are_up(tmp_path: Path) -> None:
    """Somebody may be measuring them, and the address be a slip of the pen."""
    spec, private = SPECS["redis"], Supervisor(tmp_path)
    private.up([spec])
    try:
        with pytest.raises(LockbenchError, match=r"127\.0\.0\.1:1 does not answer"):
            supervisor_at(tmp_path, "redis", "127.0.0.1:1").up([spec])
        (line,) = private.status([spec])
        assert line.problem is None
    finally:
        private.down([spec])
